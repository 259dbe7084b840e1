<?php

declare(strict_types=1);

namespace Shardwatch;

/** What Shardwatch said about one switch. */
final class State
{
    private const MAX_TTL = 300;

    /** @param array{host: string, port: int, tls: bool, cluster: bool}|null $endpoint */
    private function __construct(
        public readonly string $key,
        public readonly bool $canUse,
        public readonly int $percent,
        public readonly int $revision,
        public readonly int $epoch,
        public readonly ?array $endpoint,
        public readonly float $ttl,
        public readonly float $confirmedAt,
    ) {
    }

    /** Return null for anything that Shardwatch would not say: a wrong type must never pass for a yes. */
    public static function read(mixed $row, float $confirmedAt): ?self
    {
        if (!is_array($row)
            || !is_string($row['key'] ?? null)
            || !is_bool($row['can_use'] ?? null)
            || !is_int($row['percent'] ?? null) || $row['percent'] < 0 || $row['percent'] > 100
            || !is_int($row['revision'] ?? null) || $row['revision'] < 0
            || !is_int($row['epoch'] ?? null) || $row['epoch'] < 0
            || !is_numeric($row['ttl_seconds'] ?? null)
        ) {
            return null;
        }
        return new self(
            $row['key'],
            $row['can_use'],
            $row['percent'],
            $row['revision'],
            $row['epoch'],
            self::readEndpoint($row['endpoint'] ?? null),
            (float) min(self::MAX_TTL, max(1, $row['ttl_seconds'])),
            $confirmedAt,
        );
    }

    private static function readEndpoint(mixed $endpoint): ?array
    {
        if (!is_array($endpoint) || !is_string($endpoint['host'] ?? null) || !is_int($endpoint['port'] ?? null)) {
            return null;
        }
        return [
            'host' => $endpoint['host'],
            'port' => $endpoint['port'],
            'tls' => ($endpoint['tls'] ?? false) === true,
            'cluster' => ($endpoint['cluster'] ?? false) === true,
        ];
    }

    /** Revisions only go up, unless the epoch is newer: a backup was restored, and its revisions count anew. */
    public function replaces(?self $known): bool
    {
        if ($known === null) {
            return true;
        }
        if ($this->epoch !== $known->epoch) {
            return $this->epoch > $known->epoch;
        }
        if ($this->revision !== $known->revision) {
            return $this->revision > $known->revision;
        }
        // A no stays a no within its revision; only a canary may let instances in without a new one.
        return $known->canUse || !$this->canUse || ($this->percent > 0 && $this->percent < 100);
    }

    public function confirmed(float $at): self
    {
        return self::read($this->toArray(), $at) ?? $this;
    }

    /** @return array<string, mixed> */
    public function toArray(): array
    {
        return [
            'key' => $this->key,
            'can_use' => $this->canUse,
            'percent' => $this->percent,
            'revision' => $this->revision,
            'epoch' => $this->epoch,
            'endpoint' => $this->endpoint,
            'ttl_seconds' => $this->ttl,
            'confirmed_at' => $this->confirmedAt,
        ];
    }
}
