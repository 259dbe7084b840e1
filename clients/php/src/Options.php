<?php

declare(strict_types=1);

namespace Shardwatch;

/** What an application says once: where Shardwatch is, which caches it uses, where the last known values are kept. */
final class Options
{
    public const OPEN = 'open';
    public const CLOSED = 'closed';

    public readonly string $url;
    public readonly string $instance;
    public readonly string $place;
    /** @var \Closure(): float */
    public readonly \Closure $clock;

    /**
     * @param array<string, string> $caches name of the switch => OPEN or CLOSED, which holds until anything is known
     * @param string $directory of this application alone, writable, on a disk that outlives restarts
     * @param string $instance one name for all processes that share one APCu; host and SAPI unless given
     * @param string $address what the caches see as this host's address; where requests leave from unless given
     * @param (\Closure(): float)|null $clock seconds since 1970, for tests
     * @param int $workers how many processes share one APCu; php-fpm knows it, elsewhere 0 says that nobody does
     */
    public function __construct(
        string $url,
        public readonly string $clientKey,
        public readonly array $caches,
        public readonly string $directory,
        string $instance = '',
        public readonly string $address = '',
        public readonly int $connectMilliseconds = 100,
        public readonly int $totalMilliseconds = 300,
        ?\Closure $clock = null,
        public readonly int $workers = 0,
    ) {
        foreach ($caches as $key => $default) {
            if (!preg_match('/^[a-z0-9.-]+$/D', (string) $key)) {
                throw new \InvalidArgumentException("'$key': the name of a switch has only a-z, 0-9, dot and dash.");
            }
            if (!in_array($default, [self::OPEN, self::CLOSED], true)) {
                throw new \InvalidArgumentException("'$key' is 'open' or 'closed' until anything is known.");
            }
        }
        $this->url = rtrim($url, '/');
        $this->instance = $instance !== '' ? $instance : gethostname() . '.' . PHP_SAPI;
        // Applications that share one APCu must not read each other's values.
        $this->place = hash('xxh64', implode("\n", [$this->url, $this->instance, $directory, ...array_keys($caches)]));
        $this->clock = $clock ?? static fn (): float => microtime(true);
    }
}
