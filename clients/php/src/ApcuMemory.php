<?php

declare(strict_types=1);

namespace Shardwatch;

/** APCu for speed, with the file behind it: a full segment drops everything, entries without a TTL too. */
final class ApcuMemory implements Memory
{
    private readonly string $record;
    private readonly string $turn;

    public function __construct(private readonly FileMemory $file, string $place)
    {
        $this->record = "shardwatch.$place";
        $this->turn = "shardwatch.$place.turn";
    }

    public function load(): ?Known
    {
        $kept = apcu_fetch($this->record);
        if (is_array($kept)) {
            return Known::fromArray($kept);
        }
        $known = $this->file->load();
        if ($known !== null) {
            @apcu_add($this->record, $known->copy() + $known->pulse());
        }
        return $known;
    }

    public function save(Known $known, bool $changed): Known
    {
        $known = $this->file->save($known, $changed);
        // No TTL: an expired no would be a yes. When to ask again is inside.
        $stored = @apcu_store($this->record, $known->copy() + $known->pulse());
        return $stored ? $known : $known->untagged('APCu has no room');
    }

    public function takeTurn(float $now): bool
    {
        $end = apcu_fetch($this->turn);
        if (is_int($end)) {
            return Turn::isFree($end, $now) && apcu_cas($this->turn, $end, Turn::end($now));
        }
        if (@apcu_add($this->turn, Turn::end($now))) {
            return true;
        }
        return !apcu_exists($this->turn) && $this->file->takeTurn($now);
    }
}
