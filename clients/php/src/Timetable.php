<?php

declare(strict_types=1);

namespace Shardwatch;

/** When to ask again, spread so that a fleet does not ask at once. */
final class Timetable
{
    private const SPREAD = 0.2;
    private const USUAL_TTL = 5.0;
    private const LONGEST_BACK_OFF = 30.0;

    /** @param array<string, State> $states */
    public static function afterAnswer(array $states, float $now): float
    {
        $ttls = array_map(fn (State $state) => $state->ttl, array_values($states));
        return $now + self::spread(min([...$ttls ?: [self::USUAL_TTL]]));
    }

    /** Wait 1, 2, 4 ... 30 seconds; longer where the answer asked for it, but never beyond 30. */
    public static function afterFailure(int $failuresBefore, float $now, float $askedFor): float
    {
        $wait = max(2 ** min($failuresBefore, 5), $askedFor);
        return $now + self::spread(min(self::LONGEST_BACK_OFF, $wait));
    }

    private static function spread(float $seconds): float
    {
        return $seconds * (1 - self::SPREAD + 2 * self::SPREAD * mt_rand() / mt_getrandmax());
    }
}
