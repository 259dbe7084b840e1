<?php

declare(strict_types=1);

namespace Shardwatch;

/**
 * phpredis behind a switch: every command looks at the switch first, and none is sent while the cache is off.
 *
 * @mixin \Redis
 */
final class SwitchedRedis
{
    private const NEEDS_RAW = [
        'multi', 'pipeline', 'watch', 'subscribe', 'psubscribe', 'scan', 'hscan', 'sscan', 'zscan', 'select',
    ];

    private \Redis|\RedisCluster|null $redis = null;
    private ?array $endpoint = null;
    private ?bool $decided = null;
    private readonly ?LeftOpen $leftOpen;

    /**
     * @param \Closure(?array): (\Redis|\RedisCluster) $connect is given the endpoint of the switch, null where none is
     *        known, and returns a connection with its timeouts set
     * @param bool $persistent whether $connect makes persistent connections
     */
    public function __construct(
        private readonly Switches $switches,
        private readonly string $key,
        private readonly \Closure $connect,
        private readonly Gzip $gzip = new Gzip(),
        bool $persistent = false,
    ) {
        $this->leftOpen = $persistent ? new LeftOpen($key) : null;
    }

    public function canUse(): bool
    {
        return $this->decided ?? $this->switches->canUse($this->key);
    }

    /** @param array<mixed> $arguments */
    public function __call(string $name, array $arguments): mixed
    {
        $command = strtolower($name);
        if (in_array($command, self::NEEDS_RAW, true)) {
            throw new \BadMethodCallException("$name changes the connection or its arguments; call it inside raw().");
        }
        if (!$this->canUse()) {
            $this->leave();
            return OffAnswer::to($command, $arguments);
        }
        $packed = $this->gzip->packFor($command, $arguments);
        return $this->gzip->unpackFrom($command, $this->send($command, $packed));
    }

    /** Decide once for several commands, so that one piece of work does not mix two states. */
    public function group(\Closure $work): mixed
    {
        $outer = $this->decided;
        $this->decided = $this->canUse();
        try {
            return $work($this);
        } finally {
            $this->decided = $outer;
        }
    }

    /** Decide once and hand out phpredis itself, for pipelines, transactions and scans; values are as stored. */
    public function raw(\Closure $work, mixed $whileOff = false): mixed
    {
        if (!$this->canUse()) {
            $this->leave();
            return $whileOff;
        }
        try {
            return $work($this->connection());
        } catch (\RedisException | \RedisClusterException $trouble) {
            $this->forgetIfBroken($trouble);
            throw $trouble;
        }
    }

    /** "Off" is proven only when no connection of this host is left. */
    private function leave(): void
    {
        $this->close();
        try {
            $this->leftOpen?->close($this->connect);
        } catch (\RedisException | \RedisClusterException) {
            // What cannot be reached is not open.
        }
    }

    public function close(): void
    {
        $redis = $this->redis;
        $this->redis = null;
        try {
            $redis?->close();
        } catch (\RedisException | \RedisClusterException) {
            // It was gone already, which is what was wanted.
        }
    }

    /** @param array<mixed> $arguments */
    private function send(string $command, array $arguments): mixed
    {
        try {
            return $this->connection()->$command(...$arguments);
        } catch (\RedisException | \RedisClusterException $trouble) {
            $this->forgetIfBroken($trouble);
            if (!Trouble::mayRepeat($trouble, $command, $arguments)) {
                throw $trouble;
            }
        }
        return $this->connection()->$command(...$arguments);
    }

    private function forgetIfBroken(\Exception $trouble): void
    {
        if (Trouble::isOfConnection($trouble)) {
            $this->close();
        }
    }

    private function connection(): \Redis|\RedisCluster
    {
        $endpoint = $this->switches->endpoint($this->key);
        if ($this->redis !== null && $endpoint !== $this->endpoint) {
            $this->close();
        }
        if ($this->redis === null) {
            $this->redis = ($this->connect)($endpoint);
            $this->endpoint = $endpoint;
            $this->leftOpen?->remember($endpoint);
        }
        return $this->redis;
    }
}
