<?php

declare(strict_types=1);

namespace Shardwatch;

/** All that an instance knows at one moment: the switches, and when to ask again. */
final class Known
{
    /** A value so long overdue was simply not asked for: traffic had stopped, or the host was restarted. */
    private const OVERDUE_AFTER = 2.0;

    /** @param array<string, State> $states by key */
    public function __construct(
        public readonly array $states = [],
        public readonly string $etag = '',
        public readonly float $asked = 0.0,
        public readonly float $due = 0.0,
        public readonly int $failures = 0,
        public readonly string $error = '',
    ) {
    }

    public function isDue(float $now): bool
    {
        // What was asked later than now was asked before the clock was set back.
        return $now >= $this->due || $now < $this->asked;
    }

    public function isOverdue(float $now): bool
    {
        return $now >= $this->due + self::OVERDUE_AFTER;
    }

    /** Keep everything and ask again at $due, with the reason for which nothing new came. */
    public function failed(string $error, float $now, float $due): self
    {
        return new self($this->states, $this->etag, $now, $due, $this->failures + 1, $error);
    }

    /** Without its ETag an answer is asked for in full again, so a value that was not kept cannot be skipped. */
    public function untagged(string $error): self
    {
        return new self($this->states, '', $this->asked, $this->due, $this->failures, $error);
    }

    /** Return which of two records of the same instance to go on with. */
    public function orLater(?self $other, float $now): self
    {
        $isLater = $other === null || ($this->asked > $other->asked && $this->asked <= $now);
        return $isLater ? $this : $other;
    }

    /** @return array{switches: list<array<string, mixed>>, etag: string} what must outlive everything */
    public function copy(): array
    {
        $rows = array_map(fn (State $state) => $state->toArray(), array_values($this->states));
        return ['switches' => $rows, 'etag' => $this->etag];
    }

    /** @return array{asked: float, due: float, failures: int, error: string} what changes with every question */
    public function pulse(): array
    {
        return ['asked' => $this->asked, 'due' => $this->due, 'failures' => $this->failures, 'error' => $this->error];
    }

    /** @param array<mixed> $kept copy and pulse, as they were written */
    public static function fromArray(array $kept): self
    {
        $states = [];
        foreach ((array) ($kept['switches'] ?? []) as $row) {
            if ($state = State::read($row, (float) ($row['confirmed_at'] ?? 0))) {
                $states[$state->key] = $state;
            }
        }
        return new self(
            $states,
            (string) ($kept['etag'] ?? ''),
            (float) ($kept['asked'] ?? 0),
            (float) ($kept['due'] ?? 0),
            (int) ($kept['failures'] ?? 0),
            (string) ($kept['error'] ?? ''),
        );
    }
}
