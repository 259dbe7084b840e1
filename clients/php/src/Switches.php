<?php

declare(strict_types=1);

namespace Shardwatch;

/**
 * Says whether a cache may be used. It never throws for trouble with Shardwatch, and an outage changes nothing:
 * the last known values hold for ever.
 */
final class Switches
{
    public const VERSION = 'php/0.1.0';
    private const WAIT_MICROSECONDS = 10_000;

    private readonly Memory $memory;
    private readonly Poll $poll;
    private Known $known;

    public function __construct(private readonly Options $options)
    {
        $file = new FileMemory($options->directory, $options->place);
        $hasApcu = function_exists('apcu_enabled') && apcu_enabled();
        $this->memory = $hasApcu ? new ApcuMemory($file, $options->place) : $file;
        $this->poll = new Poll($options, $this->memory, new Http($options));
        $this->known = new Known();
    }

    public function canUse(string $key): bool
    {
        $now = ($this->options->clock)();
        $known = $this->known->isDue($now) ? $this->renew($now) : $this->known;
        return isset($known->states[$key]) ? $known->states[$key]->canUse : $this->default($key);
    }

    /**
     * Return the address that the switch is bound to, without any password; null while none is known.
     *
     * @return array{host: string, port: int, tls: bool, cluster: bool}|null
     */
    public function endpoint(string $key): ?array
    {
        return $this->known->states[$key]->endpoint ?? null;
    }

    /** Return for how long Shardwatch has not confirmed the switch, in seconds; null where nothing was ever known. */
    public function ageSeconds(string $key): ?float
    {
        $state = $this->known->states[$key] ?? null;
        return $state === null ? null : max(0.0, ($this->options->clock)() - $state->confirmedAt);
    }

    /** Return why the last question brought nothing; '' when all is well. */
    public function lastError(): string
    {
        return $this->known->error;
    }

    private function default(string $key): bool
    {
        $default = $this->options->caches[$key]
            ?? throw new \LogicException("'$key' is not among the caches that the application named in its options.");
        return $default === Options::OPEN;
    }

    private function renew(float $now): Known
    {
        $this->known = $this->known->orLater($this->memory->load(), $now);
        if (!$this->known->isDue($now)) {
            return $this->known;
        }
        if ($this->memory->takeTurn($now)) {
            return $this->known = $this->poll->run($this->known, $now);
        }
        return $this->known->isOverdue($now) ? $this->awaitAnother($now) : $this->known;
    }

    /** After a pause the last value may be old: wait for the process that asks, as long as its question may take. */
    private function awaitAnother(float $now): Known
    {
        for ($waited = 0; $waited < $this->options->totalMilliseconds * 1000; $waited += self::WAIT_MICROSECONDS) {
            usleep(self::WAIT_MICROSECONDS);
            $this->known = $this->known->orLater($this->memory->load(), $now);
            if (!$this->known->isDue($now)) {
                break;
            }
        }
        return $this->known;
    }
}
