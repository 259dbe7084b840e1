<?php

declare(strict_types=1);

namespace Shardwatch;

/**
 * Remembers that this process holds a persistent connection, which outlives the request that opened it: when the cache
 * is switched off, the next request of the process has to close it, though it opened none itself.
 */
final class LeftOpen
{
    private readonly string $name;

    public function __construct(string $key)
    {
        $this->name = "shardwatch.open.$key." . getmypid();
    }

    public function remember(?array $endpoint): void
    {
        if (self::canRemember()) {
            @apcu_store($this->name, [$endpoint]);
        }
    }

    /** Close what an earlier request left open, with the same $connect, which finds it again. */
    public function close(\Closure $connect): void
    {
        $left = self::canRemember() ? apcu_fetch($this->name) : false;
        if (is_array($left)) {
            apcu_delete($this->name);
            $connect($left[0])->close();
        }
    }

    private static function canRemember(): bool
    {
        return function_exists('apcu_enabled') && apcu_enabled();
    }
}
