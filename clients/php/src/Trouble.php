<?php

declare(strict_types=1);

namespace Shardwatch;

/** What an exception of phpredis says about its connection. */
final class Trouble
{
    /** The server did nothing, and will do nothing on this connection. */
    private const REFUSED = '/^(MOVED|READONLY)\b/';
    private const LOST = '/went away|read error|connection|socket|communicate with any node|no nodes|timed out/i';
    /** A second time may do it twice, when the first was done and only the answer was lost. */
    private const NOT_TWICE = '/^(incr|decr|hincr|zincr|append|[lr]push|b?[lr]pop|b?lmove|b?rpoplpush|linsert|spop'
        . '|b?zpop|xadd|xreadgroup|s?publish|eval|m?setnx|hsetnx|getset|getdel|rename|move|copy|restore'
        . '|script|rawcommand)/';

    public static function isOfConnection(\Exception $trouble): bool
    {
        return self::wasRefused($trouble) || preg_match(self::LOST, $trouble->getMessage()) === 1;
    }

    /** @param array<mixed> $arguments */
    public static function mayRepeat(\Exception $trouble, string $command, array $arguments): bool
    {
        if (self::wasRefused($trouble)) {
            return true;
        }
        // SET with options may be a lock: repeated, it would find itself taken by itself.
        $mayLock = $command === 'set' && is_array($arguments[2] ?? null);
        return !$mayLock && self::isOfConnection($trouble) && !preg_match(self::NOT_TWICE, $command);
    }

    private static function wasRefused(\Exception $trouble): bool
    {
        return preg_match(self::REFUSED, $trouble->getMessage()) === 1;
    }
}
