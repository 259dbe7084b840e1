<?php

declare(strict_types=1);

namespace Shardwatch;

/** What a command answers while its cache is off: what phpredis answers for an empty cache that takes nothing. */
final class OffAnswer
{
    private const EMPTY_LIST = [
        'hgetall', 'hkeys', 'hvals', 'smembers', 'sinter', 'sunion', 'sdiff', 'lrange', 'keys', 'sort', 'time',
        'zrange', 'zrangebyscore', 'zrevrange', 'zrevrangebyscore', 'zrangebylex',
        'blpop', 'brpop', 'xrange', 'xrevrange', 'xread', 'xreadgroup',
    ];
    private const NOTHING_COUNTED = [
        'exists', 'del', 'unlink', 'hdel', 'srem', 'zrem', 'lrem', 'sadd', 'zadd',
        'hlen', 'llen', 'scard', 'zcard', 'zcount', 'strlen',
    ];
    private const MUST_NOT_VANISH = [
        'lpush', 'rpush', 'lpushx', 'rpushx', 'linsert', 'rpoplpush', 'brpoplpush', 'lmove', 'blmove',
        'xadd', 'publish', 'spublish',
    ];

    /**
     * Raise SwitchedOff for what goes into a queue. A lock (SET with NX) answers false: it was not got.
     *
     * @param array<mixed> $arguments
     */
    public static function to(string $command, array $arguments): mixed
    {
        if (in_array($command, self::MUST_NOT_VANISH, true)) {
            throw new SwitchedOff("The cache is switched off; $command has to go elsewhere.");
        }
        return match (true) {
            $command === 'mget' => array_fill(0, count((array) ($arguments[0] ?? [])), false),
            $command === 'hmget' => array_fill_keys((array) ($arguments[1] ?? []), false),
            in_array($command, self::EMPTY_LIST, true) => [],
            in_array($command, self::NOTHING_COUNTED, true) => 0,
            default => false,
        };
    }
}
