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
    return new SwitchedRedis($switches, 'user-cache', fn (?array $endpoint) => connected((int) ($endpoint['port'] ?? getenv('CACHE'))), $gzip);
}

function connected(int $port): Redis
{
    $redis = new Redis();
    $redis->connect('127.0.0.1', $port, 5, null, 0, 5);
    return $redis;
}

function show(mixed $value): void
{
    echo json_encode($value, JSON_INVALID_UTF8_SUBSTITUTE), "\n";
}
