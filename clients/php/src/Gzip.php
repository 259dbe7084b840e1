<?php

declare(strict_types=1);

namespace Shardwatch;

/**
 * Values above a size are stored as gzencode gives them, so that any gzdecode reads them. The first two bytes are the
 * marker: a raw value that begins with them is always compressed, and what was stored before stays readable.
 */
final class Gzip
{
    private const MARKER = "\x1f\x8b";
    /** Place of the value among the arguments; a list or hash of values counts as one place. */
    private const WRITES = [
        'set' => 1, 'setnx' => 1, 'getset' => 1, 'setex' => 2, 'psetex' => 2, 'hset' => 2, 'hsetnx' => 2,
        'mset' => 0, 'msetnx' => 0, 'hmset' => 1,
    ];
    private const READS = [
        'get' => true, 'getset' => true, 'getdel' => true, 'getex' => true, 'mget' => true, 'set' => true,
        'hget' => true, 'hmget' => true, 'hgetall' => true, 'hvals' => true,
    ];

    /** @param int $above bytes; PHP_INT_MAX compresses only what would be mistaken for compressed */
    public function __construct(private readonly int $above = 1024)
    {
    }

    public function pack(string $value): string
    {
        $must = strlen($value) > $this->above || str_starts_with($value, self::MARKER);
        return $must ? (string) gzencode($value) : $value;
    }

    public function unpack(mixed $value): mixed
    {
        if (!is_string($value) || !str_starts_with($value, self::MARKER)) {
            return $value;
        }
        $plain = @gzdecode($value);
        // Written by something else, before: it only looks compressed.
        return $plain === false ? $value : $plain;
    }

    /**
     * @param array<mixed> $arguments
     * @return array<mixed>
     */
    public function packFor(string $command, array $arguments): array
    {
        $place = self::WRITES[$command] ?? null;
        $value = $place === null ? null : $arguments[$place] ?? null;
        if (is_string($value)) {
            $arguments[$place] = $this->pack($value);
        } elseif (is_array($value)) {
            $arguments[$place] = array_map(fn (mixed $one) => is_string($one) ? $this->pack($one) : $one, $value);
        }
        return $arguments;
    }

    public function unpackFrom(string $command, mixed $reply): mixed
    {
        if (!isset(self::READS[$command])) {
            return $reply;
        }
        return is_array($reply) ? array_map($this->unpack(...), $reply) : $this->unpack($reply);
    }
}
