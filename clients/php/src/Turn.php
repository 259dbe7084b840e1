<?php

declare(strict_types=1);

namespace Shardwatch;

/** A turn is the time at which it ends, in milliseconds: a process that died holds nobody up for longer. */
final class Turn
{
    private const MILLISECONDS = 1000;

    public static function end(float $now): int
    {
        return (int) ($now * 1000) + self::MILLISECONDS;
    }

    public static function isFree(int $end, float $now): bool
    {
        $left = $end - (int) ($now * 1000);
        return $left <= 0 || $left > self::MILLISECONDS;
    }
}
