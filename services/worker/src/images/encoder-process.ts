import { writeFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import sharp from 'sharp'
import type { EncoderOrder } from './encoder.ts'

/*
 * A separate program that reads an image from its standard input and writes the encoded one to its standard output. A
 * malicious image can crash or take over only this process, which has no secrets and no other work.
 */

const { side, fit, pixelLimit, unreadable } = JSON.parse(process.argv[2]!) as EncoderOrder

try {
  // When memory is exhausted, Linux should kill this process first.
  writeFileSync('/proc/self/oom_score_adj', '1000')
} catch {
  // Other systems do not have this file.
}

// Only the formats that people may upload are decoded. SVG is never rendered here.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({ operation: ['VipsForeignLoadJpeg', 'VipsForeignLoadPng', 'VipsForeignLoadWebp'] })
sharp.cache(false)
sharp.concurrency(1)

const image = await buffer(process.stdin)
try {
  const encoded = await sharp(image, { limitInputPixels: pixelLimit, sequentialRead: true, failOn: 'error' })
    .autoOrient()
    .resize({ width: side, height: side, fit, withoutEnlargement: fit === 'inside' })
    .toColourspace('srgb')
    .webp({ quality: 80 })
    .toBuffer()
  process.stdout.write(encoded)
} catch (error) {
  process.stderr.write(error instanceof Error ? error.message : String(error))
  process.exitCode = unreadable
}
