import { Buffer } from 'node:buffer'
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { imageFormats, readImageSize } from './index.ts'

const picture = () => sharp({ create: { width: 300, height: 200, channels: 3, background: 'red' } })
const svg = (attributes: string) => Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" ${attributes}><g/></svg>`)

describe('the size of an image', () => {
  test.each([
    ['a PNG', 'image/png', () => picture().png().toBuffer()],
    ['an interlaced PNG', 'image/png', () => picture().png({ progressive: true }).toBuffer()],
    ['a JPEG', 'image/jpeg', () => picture().jpeg().toBuffer()],
    ['a progressive JPEG', 'image/jpeg', () => picture().jpeg({ progressive: true }).toBuffer()],
    ['a JPEG with a colour profile', 'image/jpeg', () => picture().withIccProfile('p3').jpeg().toBuffer()],
    ['a lossy WebP', 'image/webp', () => picture().webp().toBuffer()],
    ['a lossless WebP', 'image/webp', () => picture().webp({ lossless: true }).toBuffer()],
    ['a WebP with transparency', 'image/webp', () => picture().ensureAlpha(0.5).webp().toBuffer()],
  ])('is read from %s', async (_what, contentType, make) => {
    expect(readImageSize(await make(), contentType)).toEqual({ width: 300, height: 200 })
  })

  test.each([1, 2, 3, 4, 5, 6, 7, 8])('is that of the upright picture, with orientation %i', async (orientation) => {
    const upright = orientation < 5 ? { width: 300, height: 200 } : { width: 200, height: 300 }
    const bytes = await picture().withMetadata({ orientation }).jpeg().toBuffer()
    expect(readImageSize(bytes, 'image/jpeg')).toEqual(upright)
  })

  test.each([
    ['width="300" height="200"', [300, 200]],
    ['width="300px" height=" 200 "', [300, 200]],
    ['width="2in" height="72pt"', [192, 96]],
    ['viewBox="0 0 30 20"', [30, 20]],
    ['viewBox="-5,-5,30.4,20"', [30, 20]],
    ['width="300" viewBox="0 0 30 20"', [300, 200]],
    ['height="200" viewBox="0 0 30 20"', [300, 200]],
    ['width="100%" height="100%" viewBox="0 0 30 20"', [30, 20]],
  ])('of an SVG is read from %s', (attributes, [width, height]) => {
    expect(readImageSize(svg(attributes), 'image/svg+xml')).toEqual({ width, height })
  })

  test.each([
    '',
    'width="100%" height="100%"',
    'width="0" height="10"',
    'width="-3" height="10"',
    'width="1e9" height="1"',
    'width="99999999" height="1"',
    'viewBox="0 0 0 0"',
    'viewBox="0 0 x 1"',
    `viewBox="${'1 '.repeat(30_000)}"`,
  ])('of an SVG is unknown with %.40s', (attributes) => {
    expect(readImageSize(svg(attributes), 'image/svg+xml')).toBeUndefined()
  })

  test('is unknown of a damaged image, wherever it breaks off', async () => {
    const images: [string, Buffer][] = [
      ['image/png', await picture().png().toBuffer()],
      ['image/jpeg', await picture().withMetadata({ orientation: 6 }).jpeg().toBuffer()],
      ['image/webp', await picture().webp().toBuffer()],
      ['image/webp', await picture().webp({ lossless: true }).toBuffer()],
      ['image/webp', await picture().ensureAlpha(0.5).webp().toBuffer()],
    ]
    for (const [contentType, bytes] of images) {
      const whole = readImageSize(bytes, contentType)
      for (let length = 0; length < Math.min(bytes.length, 2_000); length++) {
        expect([undefined, whole]).toContainEqual(readImageSize(bytes.subarray(0, length), contentType))
      }
    }
  })

  test('is unknown for sides that are too large to draw', async () => {
    const bytes = await picture().png().toBuffer()
    for (const side of [0, 1_000_001, 0xffffffff]) {
      const changed = Buffer.from(bytes)
      changed.writeUInt32BE(side, 16)
      expect(readImageSize(changed, 'image/png')).toBeUndefined()
    }
  })

  test('is unknown for other content of any length', () => {
    const beginnings = [
      '',
      '\xff\xd8',
      '\xff\xd8\xff\xe1\xff\xffExif\0\0II*\0',
      '\x89PNG\r\n\x1a\n',
      'RIFF1234WEBPVP8 ',
      '<svg ',
    ]
    for (const beginning of beginnings) {
      for (const unit of ['\xff', '\xff\xe1\0\x02', '\xff\xd0', '\0', 'Exif\0\0II*\0', '<svg ', '"']) {
        const bytes = Buffer.from(beginning + unit.repeat(1_000_000), 'latin1')
        for (const contentType of [...imageFormats, 'image/gif', 'constructor']) {
          expect(readImageSize(bytes, contentType)).toBeUndefined()
        }
      }
    }
  })
})
