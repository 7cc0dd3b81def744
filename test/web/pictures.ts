import { crc32, deflateSync } from 'node:zlib'

/** A PNG image of this size with a gradient from a colour to white. */
export function png(width: number, height: number, [red, green, blue]: [number, number, number]): Buffer {
  const rows = Buffer.alloc(height * (1 + width * 3))
  for (let y = 0; y < height; y++) {
    const share = y / height
    const colour = [red, green, blue].map((value) => Math.round(value + (255 - value) * share))
    for (let x = 0; x < width; x++) rows.set(colour, y * (1 + width * 3) + 1 + x * 3)
  }
  return pngOf(width, height, [8, 2], rows)
}

/** A white square PNG image of this size in pixels, which has few bytes. */
export function whitePng(side: number): Buffer {
  const rowBytes = 1 + Math.ceil(side / 8)
  const rows = Buffer.alloc(side * rowBytes, 0xff)
  for (let y = 0; y < side; y++) rows[y * rowBytes] = 0
  return pngOf(side, side, [1, 0], rows)
}

function pngOf(width: number, height: number, [depth, colours]: [number, number], rows: Buffer): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([depth, colours], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const chunks = [chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]
  return Buffer.concat([signature, ...chunks])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const whole = Buffer.alloc(body.length + 8)
  whole.writeUInt32BE(data.length, 0)
  body.copy(whole, 4)
  whole.writeUInt32BE(crc32(body), body.length + 4)
  return whole
}
