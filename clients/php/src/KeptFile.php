<?php

declare(strict_types=1);

namespace Shardwatch;

/** One small file that is either whole or absent: a check sum on its first line, JSON on the second. */
final class KeptFile
{
    public function __construct(private readonly string $path)
    {
    }

    /** @return array<mixed>|null null when there is none that can be trusted */
    public function load(): ?array
    {
        $text = @file_get_contents($this->path);
        [$sum, $json] = explode("\n", (string) $text, 2) + ['', ''];
        if ($json === '' || !hash_equals(hash('sha256', $json), $sum)) {
            return null;
        }
        $kept = json_decode($json, true);
        return is_array($kept) ? $kept : null;
    }

    /**
     * Return whether it was written. $durable waits for the disk, so that the file survives a loss of power.
     *
     * @param array<mixed> $kept
     */
    public function save(array $kept, bool $durable): bool
    {
        $json = json_encode($kept, JSON_PRESERVE_ZERO_FRACTION | JSON_INVALID_UTF8_SUBSTITUTE);
        $temporary = $this->path . '.' . bin2hex(random_bytes(6));
        $file = @fopen($temporary, 'xb');
        if ($file === false) {
            return false;
        }
        $text = hash('sha256', (string) $json) . "\n" . $json;
        $written = @fwrite($file, $text) === strlen($text) && (!$durable || fsync($file));
        fclose($file);
        if ($written && @rename($temporary, $this->path)) {
            return true;
        }
        @unlink($temporary);
        return false;
    }
}
