import { writeFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import sharp from 'sharp'
import { boxPixels, cannotBeRead, pixelLimit } from './thumbnail.limits.ts'

/*
 * A program of its own: takes an image on its standard input and answers the thumbnail on its standard output. Whatever an
 * image does to the library that decodes it, it does here, where there is neither a secret nor anybody's work but its own.
 */

try {
  // Should memory run out, this is what has to go.
  writeFileSync('/proc/self/oom_score_adj', '1000')
} catch {
  // Only Linux knows it.
}

// Nothing but what people may upload; SVG among it is never drawn here.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({ operation: ['VipsForeignLoadJpeg', 'VipsForeignLoadPng', 'VipsForeignLoadWebp'] })
sharp.cache(false)
sharp.concurrency(1)

const image = await buffer(process.stdin)
try {
  const thumbnail = await sharp(image, { limitInputPixels: pixelLimit, sequentialRead: true, failOn: 'error' })
    .autoOrient()
    .resize({ width: boxPixels, height: boxPixels, fit: 'inside', withoutEnlargement: true })
    .toColourspace('srgb')
    .webp({ quality: 80 })
    .toBuffer()
  process.stdout.write(thumbnail)
} catch (error) {
  process.stderr.write(error instanceof Error ? error.message : String(error))
  process.exitCode = cannotBeRead
}
