<?php

declare(strict_types=1);

// For applications without Composer.
spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Shardwatch\\')) {
        require __DIR__ . '/src/' . substr($class, strlen('Shardwatch\\')) . '.php';
    }
});
