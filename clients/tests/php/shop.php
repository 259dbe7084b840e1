<?php

declare(strict_types=1);

// A host of an application under load, until SIGTERM; then it tells how many requests it served and what went wrong.
require __DIR__ . '/../../php/autoload.php';

use Shardwatch\Options;
use Shardwatch\SwitchedRedis;
use Shardwatch\Switches;

[, $url, $key, $directory, $instance, $lies] = $argv;
$switches = new Switches(new Options($url, $key, ['user-cache' => 'open'], $directory, $instance, '', 1000, 5000));

// All hosts of the test have one address, so their connections carry their names.
$connect = function (?array $endpoint) use ($instance): Redis|RedisCluster {
    if ($endpoint['cluster']) {
        $cluster = new RedisCluster(null, ["{$endpoint['host']}:{$endpoint['port']}"], 5, 5);
        foreach ($cluster->_masters() as $node) {
            $cluster->client($node, 'setname', $instance);
        }
        return $cluster;
    }
    $redis = new Redis();
    $redis->connect($endpoint['host'], $endpoint['port'], 5, null, 0, 5);
    $redis->client('setname', $instance);
    return $redis;
};

$told = false;
pcntl_async_signals(true);
pcntl_signal(SIGTERM, function () use (&$told): void {
    $told = true;
});

$requests = 0;
$errors = [];
$cache = new SwitchedRedis($switches, 'user-cache', $connect);
while (!$told) {
    $user = 'user.' . ($requests++ % 50);
    try {
        if ($lies !== '') {
            // It asks and reports like everybody else, and goes on all the same.
            $switches->canUse('user-cache');
            $held ??= $connect($switches->endpoint('user-cache'));
            $held->get($user);
        } elseif ($cache->get($user) === false) {
            $cache->setex($user, 60, "from the database: $user");
        }
    } catch (Exception $error) {
        $errors[] = $error->getMessage();
    }
    usleep($lies !== '' ? 200 : 5_000);
}
echo json_encode(['requests' => $requests, 'errors' => $errors]), "\n";
