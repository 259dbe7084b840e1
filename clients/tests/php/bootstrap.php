<?php

declare(strict_types=1);

// What the snippets of PHP in the tests begin with.
require __DIR__ . '/../../php/autoload.php';

use Shardwatch\Gzip;
use Shardwatch\Options;
use Shardwatch\SwitchedRedis;
use Shardwatch\Switches;

function options(string $default = Options::OPEN, ?Closure $clock = null): Options
{
    [$url, $directory] = [getenv('SHARDWATCH'), getenv('KEPT')];
    return new Options($url, 'swc_key', ['user-cache' => $default], $directory, 'web1', '10.0.0.5', 5000, 5000, $clock);
}

function switches(string $default = Options::OPEN, ?Closure $clock = null): Switches
{
    return new Switches(options($default, $clock));
}

/** A cache at the port that the endpoint names, or else the one of the environment. */
function cache(Switches $switches, Gzip $gzip = new Gzip()): SwitchedRedis
{
    $connect = fn (?array $endpoint) => connected((int) ($endpoint['port'] ?? getenv('CACHE')));
    return new SwitchedRedis($switches, 'user-cache', $connect, $gzip);
}

function connected(int $port): Redis
{
    $redis = new Redis();
    $redis->connect('127.0.0.1', $port, 5, null, 0, 5);
    return $redis;
}

function show(mixed $value): void
{
    echo json_encode($value, JSON_INVALID_UTF8_SUBSTITUTE) . "\n";
}

/** A clock that a snippet sets: switches(clock: ($clock = new Clock())(...)). */
final class Clock
{
    public float $now = 1e9;

    public function __invoke(): float
    {
        return $this->now;
    }
}

function persistent(): Redis
{
    $redis = new Redis();
    $redis->pconnect('127.0.0.1', (int) getenv('CACHE'));
    return $redis;
}

/** How many connections to the cache last sent SET; the server may need a moment to see that one was closed. */
function setters(int $wanted): int
{
    $plain = connected((int) getenv('CACHE'));
    $deadline = microtime(true) + 20;
    do {
        $count = count(array_filter($plain->client('list'), fn (array $one) => $one['cmd'] === 'set'));
    } while ($count !== $wanted && microtime(true) < $deadline);
    return $count;
}
