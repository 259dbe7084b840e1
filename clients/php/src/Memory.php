<?php

declare(strict_types=1);

namespace Shardwatch;

/** What the processes of one instance share. */
interface Memory
{
    public function load(): ?Known;

    /** Return $known, without its ETag where it could not be kept. $changed says that a switch is not as it was. */
    public function save(Known $known, bool $changed): Known;

    /** Return true to one process only, until it is done or its turn is over. */
    public function takeTurn(float $now): bool;
}
