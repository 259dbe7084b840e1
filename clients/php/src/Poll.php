<?php

declare(strict_types=1);

namespace Shardwatch;

/** One question to Shardwatch for all switches of the application, and the report of what was made of the answer. */
final class Poll
{
    /** Below this a report would only be cut off. */
    private const LEAST_MILLISECONDS = 20;
    private const LONGEST_ERROR = 200;

    public function __construct(
        private readonly Options $options,
        private readonly Memory $memory,
        private readonly Http $http,
    ) {
    }

    public function run(Known $known, float $now): Known
    {
        $began = hrtime(true);
        $answer = $this->http->get($this->path(), $known->etag);
        $next = $this->understand($answer, $known, $now);
        $changed = $next->failures === 0 && ($next->etag === '' || $next->etag !== $known->etag);
        $next = $this->memory->save($next, $changed);
        $left = $this->options->totalMilliseconds - intdiv(hrtime(true) - $began, 1_000_000);
        if ($next->failures === 0 && $left >= self::LEAST_MILLISECONDS) {
            $error = $next->error !== '' ? $next->error : $known->error;
            $rows = $this->report($next, $error, $answer->localAddress, $now);
            $this->http->post('/api/v1/switches/reports', $rows, $left);
        }
        return $next;
    }

    private function path(): string
    {
        return '/api/v1/switches?' . http_build_query([
            'keys' => implode(',', array_keys($this->options->caches)),
            'instance' => $this->options->instance,
        ]);
    }

    private function understand(Answer $answer, Known $known, float $now): Known
    {
        $confirmedAt = $now - $answer->seconds('x-shardwatch-stale');
        if ($answer->status === 304 && $known->etag !== '') {
            $states = array_map(fn (State $state) => $state->confirmed($confirmedAt), $known->states);
            return new Known($states, $known->etag, $now, Timetable::afterAnswer($states, $now));
        }
        $rows = $answer->status === 200 ? ($answer->json()['switches'] ?? null) : null;
        if (is_array($rows)) {
            return $this->accept($rows, $answer->header('etag'), $known, $confirmedAt, $now);
        }
        $due = Timetable::afterFailure($known->failures, $now, $answer->seconds('retry-after'));
        return $known->failed($this->reason($answer), $now, $due);
    }

    /** Take each switch whose revision may replace the known one; what is missing or refused stays as it was. */
    private function accept(array $rows, string $etag, Known $known, float $confirmedAt, float $now): Known
    {
        $said = [];
        foreach ($rows as $row) {
            if ($state = State::read($row, $confirmedAt)) {
                $said[$state->key] = $state;
            }
        }
        $states = $known->states;
        $errors = [];
        foreach (array_keys($this->options->caches) as $key) {
            $state = $said[$key] ?? null;
            if ($state === null) {
                $errors[] = "$key is not in the answer";
            } elseif ($state->replaces($known->states[$key] ?? null)) {
                $states[$key] = $state;
            } else {
                $errors[] = "$key: revision $state->revision of epoch $state->epoch does not replace what is known";
            }
        }
        $error = substr(implode('; ', $errors), 0, self::LONGEST_ERROR);
        return new Known($states, $error === '' ? $etag : '', $now, Timetable::afterAnswer($states, $now), 0, $error);
    }

    private function reason(Answer $answer): string
    {
        return match (true) {
            $answer->status === 0 => "no answer: $answer->trouble",
            $answer->status === 200 => 'the answer is not what Shardwatch says',
            default => "answered $answer->status",
        };
    }

    /** @return list<array<string, mixed>> */
    private function report(Known $known, string $error, string $localAddress, float $now): array
    {
        // Loopback is the same address on every host, so it would tell nothing.
        $found = str_starts_with($localAddress, '127.') || $localAddress === '::1' ? '' : $localAddress;
        $address = $this->options->address !== '' ? $this->options->address : $found;
        $age = fn (State $state) => round(max(0, $now - $state->confirmedAt), 1);
        $workers = $this->workers();
        return array_map(fn (string $key) => [
            'key' => $key,
            'instance' => $this->options->instance,
            'address' => $address,
            'revision' => $known->states[$key]->revision ?? 0,
            'epoch' => $known->states[$key]->epoch ?? 0,
            'age_seconds' => isset($known->states[$key]) ? $age($known->states[$key]) : null,
            'error' => $error,
            'version' => Switches::VERSION,
        ] + ($workers > 0 ? ['workers' => $workers] : []), array_map('strval', array_keys($this->options->caches)));
    }

    /** How many processes share what is known here; 0 where nobody knows. */
    private function workers(): int
    {
        if ($this->options->workers > 0 || !function_exists('fpm_get_status')) {
            return $this->options->workers;
        }
        $status = fpm_get_status();
        return is_array($status) ? (int) ($status['total-processes'] ?? 0) : 0;
    }
}
