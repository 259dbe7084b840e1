<?php

declare(strict_types=1);

// A client for the suite that both clients pass: one line of JSON in, one line out.
require __DIR__ . '/../../php/autoload.php';

use Shardwatch\Options;
use Shardwatch\Switches;

$given = json_decode($argv[1], true);
$now = 0.0;
$switches = new Switches(new Options(
    $given['url'],
    'swc_key',
    $given['caches'],
    $given['directory'],
    instance: $given['instance'],
    address: $given['address'],
    connectMilliseconds: $given['milliseconds'],
    totalMilliseconds: $given['milliseconds'],
    clock: function () use (&$now): float {
        return $now;
    },
    workers: $given['workers'],
));

while (($line = fgets(STDIN)) !== false) {
    [$question, $key, $now] = json_decode($line, true);
    $now = (float) $now;
    try {
        echo json_encode(['answer' => match ($question) {
            'can_use' => $switches->canUse($key),
            'endpoint' => $switches->endpoint($key),
            'age' => $switches->ageSeconds($key),
            'error' => $switches->lastError(),
        }]), "\n";
    } catch (LogicException $error) {
        echo json_encode(['raised' => $error->getMessage()]), "\n";
    }
}
