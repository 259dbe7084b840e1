<?php

declare(strict_types=1);

namespace Shardwatch;

/** The copy that outlives everything, and the memory of hosts without APCu. */
final class FileMemory implements Memory
{
    private readonly KeptFile $copy;
    private readonly KeptFile $pulse;

    public function __construct(private readonly string $directory, private readonly string $place)
    {
        $this->copy = new KeptFile("$directory/switches.$place");
        $this->pulse = new KeptFile("$directory/pulse.$place");
    }

    public function load(): ?Known
    {
        $copy = $this->copy->load();
        $pulse = $this->pulse->load();
        // Without values only a failure is a reason to wait with the next question.
        $nothing = $copy === null && ($pulse['failures'] ?? 0) === 0;
        return $nothing ? null : Known::fromArray(($copy ?? []) + ($pulse ?? []));
    }

    public function save(Known $known, bool $changed): Known
    {
        if ($changed && !($this->isWritable() && $this->copy->save($known->copy(), durable: true))) {
            $known = $known->untagged('the file of last known values cannot be written');
        }
        $this->pulse->save($known->pulse(), durable: false);
        return $known;
    }

    public function takeTurn(float $now): bool
    {
        // Where nothing can be written, asking in turn still spares the requests of this host.
        $directory = $this->isWritable() ? $this->directory : sys_get_temp_dir();
        $file = @fopen("$directory/turn.$this->place", 'cb+');
        if ($file === false) {
            return true;
        }
        $free = flock($file, LOCK_EX | LOCK_NB) && Turn::isFree((int) fread($file, 20), $now);
        if ($free) {
            rewind($file);
            fwrite($file, sprintf('%020d', Turn::end($now)));
        }
        fclose($file);
        return $free;
    }

    private function isWritable(): bool
    {
        // Another process may make it at the same moment.
        return is_writable($this->directory) || @mkdir($this->directory, 0700, true) || is_writable($this->directory);
    }
}
