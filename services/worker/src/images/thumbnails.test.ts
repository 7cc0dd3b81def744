import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { crc32, deflateSync } from 'node:zlib'
import { BlobMissing, thumbnailKey } from '@parley/blobs'
import { recordJob, uuidv7 } from '@parley/database'
import sharp from 'sharp'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { worker } from '../service.ts'
import { eventually, workerEnvironment } from '../worker.testing.ts'
import { type EncoderOptions, encodeImage, UnreadableImage } from './encoder.ts'
import { addThumbnail } from './thumbnails.ts'

const held = workerEnvironment()
const red = { r: 220, g: 20, b: 20 }
const picture = (width: number, height: number, channels: 3 | 4 = 3) =>
  sharp({ create: { width, height, channels, background: { ...red, alpha: 0.5 } } })
/** Left half red, right half blue. */
const halves = (width: number, height: number) =>
  picture(width, height).composite([
    {
      input: { create: { width: width / 2, height, channels: 3, background: { r: 0, g: 0, b: 255 } } },
      gravity: 'east',
    },
  ])

/** A small PNG of black pixels whose header announces a large image. */
function bomb(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data])
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, sum])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width)
  header.writeUInt32BE(height, 4)
  header[8] = 1
  const rows = deflateSync(Buffer.alloc((Math.ceil(width / 8) + 1) * height), { level: 1 })
  const mark = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([mark, chunk('IHDR', header), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))])
}

const encodeThumbnail = (image: Buffer, options?: EncoderOptions) =>
  encodeImage(image, { side: 512, fit: 'inside' }, options)

/** A program that replaces the decoder. */
async function program(source: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-thumbnail-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'program.mjs'), source)
  return join(folder, 'program.mjs')
}

describe('a thumbnail', () => {
  test.each([
    ['a wide jpeg', () => picture(2000, 1000).jpeg().toBuffer(), [512, 256]],
    ['a high webp', () => picture(300, 3000).webp().toBuffer(), [51, 512]],
    ['a small png, which is not enlarged', () => picture(40, 30).png().toBuffer(), [40, 30]],
    ['a png with 16 bits', () => picture(800, 800).toColourspace('rgb16').png().toBuffer(), [512, 512]],
    ['a jpeg for printers', () => picture(800, 400).toColourspace('cmyk').jpeg().toBuffer(), [512, 256]],
    ['a grey progressive jpeg', () => picture(800, 400).greyscale().jpeg({ progressive: true }).toBuffer(), [512, 256]],
    ['an interlaced png', () => picture(800, 400).png({ progressive: true }).toBuffer(), [512, 256]],
  ])('of %s is a WebP that fits', async (_what, image, [width, height]) => {
    const thumbnail = await encodeThumbnail(await image())
    expect(await sharp(thumbnail).metadata()).toMatchObject({ format: 'webp', width, height, space: 'srgb' })
  })

  test('of a jpeg for printers has its colours', async () => {
    const thumbnail = await encodeThumbnail(await picture(600, 600).toColourspace('cmyk').jpeg().toBuffer())
    const { channels } = await sharp(thumbnail).stats()
    expect(channels[0]!.mean).toBeGreaterThan(channels[1]!.mean + 100)
  })

  test('keeps transparency', async () => {
    const thumbnail = await encodeThumbnail(await picture(600, 600, 4).png().toBuffer())
    expect(await sharp(thumbnail).metadata()).toMatchObject({ hasAlpha: true })
  })

  test('is upright, and has no data about camera and place', async () => {
    const image = await halves(1000, 500)
      .withExif({ IFD0: { Artist: 'Ann' }, IFD3: { GPSLatitude: '52/1 31/1 0/1' } })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer()
    const thumbnail = sharp(await encodeThumbnail(image))
    const facts = await thumbnail.metadata()
    expect(facts).toMatchObject({ width: 256, height: 512 })
    expect([facts.exif, facts.icc, facts.xmp, facts.orientation]).toEqual([undefined, undefined, undefined, undefined])
    // Rotated clockwise by a quarter: the left side is now at the top.
    const top = await thumbnail.extract({ left: 0, top: 0, width: 256, height: 200 }).png().toBuffer()
    expect((await sharp(top).stats()).channels[0]!.mean).toBeGreaterThan(150)
  })

  test('of a moving picture is its first picture', async () => {
    const blue = { r: 0, g: 0, b: 255 }
    const frame = (background: typeof red) =>
      sharp({ create: { width: 600, height: 600, channels: 3, background } })
        .png()
        .toBuffer()
    const frames = [await frame(red), await frame(blue)]
    const moving = await sharp(frames, { join: { animated: true } })
      .webp({ loop: 0 })
      .toBuffer()
    expect(await sharp(moving).metadata()).toMatchObject({ pages: 2 })
    const thumbnail = await encodeThumbnail(moving)
    expect((await sharp(thumbnail).metadata()).pages ?? 1).toBe(1)
    expect((await sharp(thumbnail).stats()).channels[0]!.mean).toBeGreaterThan(150)
  })

  test.each([
    ['a file of 110 KB that unpacks to 900 million pixels', async () => bomb(30_000, 30_000), /pixel limit/],
    [
      'a jpeg that breaks off',
      async () => (await noise().jpeg().toBuffer()).subarray(0, 20_000),
      /premature|truncated/i,
    ],
    ['a png that breaks off', async () => (await noise().png().toBuffer()).subarray(0, 20_000), /./],
    ['what is no image', async () => Buffer.from('%PDF-1.7 not an image'), /unsupported/],
    ['nothing', async () => Buffer.alloc(0), /./],
    ['a moving gif, which nobody may upload', async () => picture(20, 20).gif().toBuffer(), /unsupported/],
    ['a tiff in disguise', async () => picture(20, 20).tiff().toBuffer(), /unsupported/],
    ['a drawing in disguise', async () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), /unsupported/],
  ])('is not made of %s', async (_what, image, message) => {
    const failure = await encodeThumbnail(await image()).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(UnreadableImage)
    expect((failure as Error).message).toMatch(message)
  })

  test('is not made when the program that decodes it writes without end', async () => {
    const image = await noise().png().toBuffer()
    const endless = await program('setInterval(() => process.stdout.write(Buffer.alloc(200_000)), 10)')
    const failure = await encodeThumbnail(image, { program: endless }).catch((error: unknown) => error)
    expect(failure).toEqual(new UnreadableImage('the encoded image would be too large'))
  })

  test.each([
    ['breaks down', 'process.kill(process.pid, "SIGSEGV")', /SIGSEGV/, {}],
    ['runs out of memory', 'process.stdin.resume(); process.kill(process.pid, "SIGKILL")', /SIGKILL/, {}],
    ['hangs', 'setInterval(() => {}, 1000)', /SIGKILL/, { timeoutMs: 500 }],
    ['fails to start', 'throw new Error("broken")', /code 1/, {}],
  ])('fails, and nothing else does, when the program that decodes it %s', async (_what, source, message, patience) => {
    const image = await noise().png().toBuffer()
    const options = { program: await program(source), ...patience }
    const failure = await encodeThumbnail(image, options).catch((error: unknown) => error)
    expect(failure).not.toBeInstanceOf(UnreadableImage)
    expect((failure as Error).message).toMatch(message)
  })

  test('is made in a process that knows no secret', async () => {
    const spy = await program('process.stdin.resume(); process.stdout.write(Object.keys(process.env).join())')
    expect(String(await encodeThumbnail(Buffer.from('x'), { program: spy }))).toBe('MALLOC_ARENA_MAX')
  })
})

const noise = () =>
  sharp({
    create: {
      width: 700,
      height: 700,
      channels: 3,
      background: red,
      noise: { type: 'gaussian', mean: 128, sigma: 60 },
    },
  })

describe('an uploaded image', () => {
  beforeEach(() => held.database.pool.query('truncate uploads, jobs, blobs cascade'))

  async function upload(image: Buffer, contentType = 'image/jpeg') {
    const { db } = held.database
    const { blobs } = held.deps
    const filename = `${uuidv7()}.${contentType.slice(6, 9)}`
    const digest = Buffer.alloc(32)
    const about = { filename, kind: 'image' as const, channelId: uuidv7(), originalName: 'a.jpg', contentType }
    await db
      .insertInto('uploads')
      .values({
        ...about,
        size: image.length,
        digest,
        uploadedBy: uuidv7(),
        createdAt: 1,
        storedAt: 2,
        idleSince: Date.now(),
      })
      .execute()
    await blobs.put(filename, image, { size: image.length, contentType })
    return filename
  }
  const typeOf = async (filename: string) =>
    (
      await held.database.db
        .selectFrom('uploads')
        .select('thumbnailType')
        .where('filename', '=', filename)
        .executeTakeFirstOrThrow()
    ).thumbnailType
  const thumbnail = async (filename: string) => buffer(await held.deps.blobs.get(thumbnailKey(filename)))
  const keys = async () => (await held.database.db.selectFrom('blobs').select('key').execute()).map(({ key }) => key)

  test('gets its thumbnail from the worker, and those that cannot be read are done with at once', async () => {
    const { db } = held.database
    const good = await upload(await picture(900, 600).jpeg().toBuffer())
    const bad = await upload(Buffer.from('no image'), 'image/png')
    const drawing = await upload(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/svg+xml')
    const gone = `${uuidv7()}.png`
    await db.transaction().execute(async (trx) => {
      for (const filename of [bad, drawing, gone, good]) await recordJob(trx, 'make-thumbnail', { filename })
    })
    const running = worker(held.deps)
    await running.start!()
    onTestFinished(async () => running.stop!())
    await eventually(async () => expect(await db.selectFrom('jobs').select('id').execute()).toEqual([]))

    expect([await typeOf(good), await typeOf(bad), await typeOf(drawing)]).toEqual(['image/webp', null, null])
    expect(await sharp(await thumbnail(good)).metadata()).toMatchObject({ format: 'webp', width: 512, height: 341 })
    expect((await keys()).sort()).toEqual([good, bad, drawing, thumbnailKey(good)].sort())
  })

  test('gets one thumbnail, also when its job is repeated', async () => {
    const filename = await upload(await picture(900, 600).jpeg().toBuffer())
    await Promise.all([1, 2].map(() => addThumbnail(held.deps, { filename })))
    await addThumbnail(held.deps, { filename })
    expect(await typeOf(filename)).toBe('image/webp')
    expect(await keys()).toHaveLength(2)
  })

  test('that is smaller than its thumbnail would be has none, and is shown itself', async () => {
    const image = await noise().greyscale().threshold(140).png({ palette: true, colours: 2 }).toBuffer()
    expect((await encodeThumbnail(image)).length).toBeGreaterThan(image.length)
    const filename = await upload(image, 'image/png')
    await addThumbnail(held.deps, { filename })
    expect([await typeOf(filename), await keys()]).toEqual([null, [filename]])
  })

  test('keeps the thumbnail it was sent with', async () => {
    const filename = await upload(await picture(900, 600).jpeg().toBuffer())
    await held.database.db.updateTable('uploads').set({ thumbnailType: 'image/png' }).execute()
    await addThumbnail(held.deps, { filename })
    expect(await typeOf(filename)).toBe('image/png')
    await expect(thumbnail(filename)).rejects.toThrow(BlobMissing)
  })

  test('that is deleted while its thumbnail is made leaves no thumbnail', async () => {
    const { db } = held.database
    const { blobs } = held.deps
    const image = await picture(900, 600).jpeg().toBuffer()
    const filename = await upload(image)
    const removed: typeof blobs = {
      ...blobs,
      async put(...args) {
        await blobs.put(...args)
        await db.deleteFrom('uploads').execute()
        await blobs.delete([filename])
      },
    }
    await addThumbnail({ ...held.deps, blobs: removed }, { filename })
    expect(await keys()).toEqual([])

    // A worker crashed after it had stored the bytes, and the worker that repeats its job finds no row.
    const bytes = Buffer.from('left behind')
    await blobs.put(thumbnailKey(filename), bytes, { size: bytes.length, contentType: 'image/webp' })
    await addThumbnail(held.deps, { filename })
    expect(await keys()).toEqual([])
  })

  test('is tried again when the program crashes, and has no thumbnail meanwhile', async () => {
    const filename = await upload(await picture(900, 600).jpeg().toBuffer())
    const broken = { program: await program('process.abort()') }
    await expect(addThumbnail(held.deps, { filename }, broken)).rejects.toThrow(/SIGABRT/)
    expect([await typeOf(filename), await keys()]).toEqual([null, [filename]])
    await addThumbnail(held.deps, { filename })
    expect(await typeOf(filename)).toBe('image/webp')
  })
})
