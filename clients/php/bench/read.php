<?php

declare(strict_types=1);

// What a look at the switch adds to one cache operation: php -d apc.enable_cli=1 read.php [operations]
// Prints JSON; microseconds for one operation, the best of five rounds.
require __DIR__ . '/../autoload.php';

use Shardwatch\ApcuMemory;
use Shardwatch\FileMemory;
use Shardwatch\Known;
use Shardwatch\Options;
use Shardwatch\State;
use Shardwatch\Switches;

/** @param Closure(int): void $work */
function microseconds(int $operations, Closure $work): float
{
    $best = INF;
    for ($round = 0; $round < 5; $round++) {
        $began = hrtime(true);
        $work($operations);
        $best = min($best, (hrtime(true) - $began) / 1000 / $operations);
    }
    return $best;
}

$operations = (int) ($argv[1] ?? 500_000);
$directory = sys_get_temp_dir() . '/shardwatch-bench-' . getmypid();
$options = new Options('http://127.0.0.1:1', 'swc_bench', ['user-cache' => Options::OPEN], $directory);
$state = State::read(
    ['key' => 'user-cache', 'can_use' => true, 'percent' => 100, 'revision' => 7, 'epoch' => 1, 'ttl_seconds' => 300],
    microtime(true),
);
// Known and not due for the time of the measurement, as it is between two questions.
$memory = new ApcuMemory(new FileMemory($directory, $options->place), $options->place);
$memory->save(new Known(['user-cache' => $state], '"7"', microtime(true), microtime(true) + 3600), changed: true);

$switches = new Switches($options);
$empty = microseconds($operations, function (int $left): void {
    while ($left-- > 0) {
    }
});
$steady = microseconds($operations, function (int $left) use ($switches): void {
    while ($left-- > 0) {
        $switches->canUse('user-cache');
    }
});
$first = microseconds(intdiv($operations, 20), function (int $left) use ($options): void {
    while ($left-- > 0) {
        (new Switches($options))->canUse('user-cache');
    }
});

array_map('unlink', glob("$directory/*"));
rmdir($directory);
echo json_encode([
    'apcu' => apcu_enabled(),
    'operations' => $operations,
    'read_microseconds' => round($steady - $empty, 3),
    'first_read_of_a_request_microseconds' => round($first, 3),
]), "\n";
