<?php

declare(strict_types=1);

namespace Shardwatch;

/** Sessions in a cache behind a switch; while it is off another handler keeps them. One session never mixes both. */
final class SwitchedSessions implements \SessionHandlerInterface, \SessionUpdateTimestampHandlerInterface
{
    private bool $inCache = true;

    public function __construct(
        private readonly SwitchedRedis $cache,
        private readonly \SessionHandlerInterface $whileOff,
        private readonly int $lifetime = 1440,
        private readonly string $prefix = 'session.',
    ) {
    }

    public function open(string $path, string $name): bool
    {
        $this->inCache = $this->cache->canUse();
        return $this->inCache || $this->whileOff->open($path, $name);
    }

    public function close(): bool
    {
        return $this->inCache || $this->whileOff->close();
    }

    public function read(string $id): string|false
    {
        return $this->inCache ? (string) $this->cache->get($this->prefix . $id) : $this->whileOff->read($id);
    }

    public function write(string $id, string $data): bool
    {
        // Switched off since the session began: the cache takes nothing more, and PHP tells that the write failed.
        if ($this->inCache) {
            return (bool) $this->cache->setex($this->prefix . $id, $this->lifetime, $data);
        }
        return $this->whileOff->write($id, $data);
    }

    public function destroy(string $id): bool
    {
        return $this->inCache ? $this->cache->del($this->prefix . $id) !== false : $this->whileOff->destroy($id);
    }

    public function gc(int $max_lifetime): int|false
    {
        return $this->inCache ? 0 : $this->whileOff->gc($max_lifetime);
    }

    public function validateId(string $id): bool
    {
        return $this->read($id) !== '';
    }

    public function updateTimestamp(string $id, string $data): bool
    {
        return $this->write($id, $data);
    }
}
