import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

export interface Audience {
  port: number
  /** Number of streams. */
  count: number
  /** The request that opens the stream with this number. */
  request: (index: number) => Buffer
  /** Text that a stream has sent once it is open, in its head or after it. */
  openedBy: string
  /** Number of streams that parse every event. */
  witnesses?: number
}

/** Marks an event with its number. Witnesses find this mark in the text of any event. */
export const numbered = (number: number) => numberMark + String(number).padStart(numberDigits, '0')
const numberMark = 'no. '
const numberDigits = 9
const frameEnd = '\n\n'

/** The number of a mark. It is read without making a string of it, because witnesses read millions. */
function numberAt(text: string, begin: number): number {
  let number = 0
  for (let place = begin; place < begin + numberDigits; place++) number = number * 10 + text.charCodeAt(place) - zero
  return number
}
const zero = '0'.charCodeAt(0)

const usualWitnesses = 50
const openingAtOnce = 64
const timeoutMs = 60_000

/**
 * Many open event streams in this process. Some of them, evenly spread, are witnesses: they parse every event and
 * report when it arrived. The others only count bytes. All streams get the same bytes, so this is exact (`settle`), and
 * the client leaves the processors to the server.
 */
export class StreamAudience {
  readonly size: number
  /** Called for each event at each witness, with the `performance.now()` at which its last bytes were read. */
  onArrival: (event: number, receivedAt: number) => void = () => {}
  readonly witnesses: number
  #sockets: Socket[] = []
  #bytes: Float64Array
  /** Bytes of complete events at each witness, by stream number. */
  #eventBytes = new Map<number, number>()
  #broken: string | undefined
  #closing = false

  private constructor(size: number, witnesses: number) {
    this.size = size
    this.witnesses = Math.min(witnesses, size)
    this.#bytes = new Float64Array(size)
  }

  static async open(audience: Audience): Promise<StreamAudience> {
    const streams = new StreamAudience(audience.count, audience.witnesses ?? usualWitnesses)
    const shared = Buffer.allocUnsafeSlow(256 * 1024)
    const every = Math.floor(audience.count / streams.witnesses)
    let next = 0
    const openSome = async () => {
      while (next < audience.count) {
        const index = next++
        await streams.#open(audience, index, shared, index % every === 0 && index / every < streams.witnesses)
      }
    }
    try {
      await Promise.all(Array.from({ length: openingAtOnce }, openSome))
    } catch (error) {
      streams.close()
      throw error
    }
    return streams
  }

  #open({ port, request, openedBy }: Audience, index: number, shared: Buffer, isWitness: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const count = (length: number) => {
        this.#bytes[index]! += length
        return true
      }
      const attend = isWitness ? this.#witness(index) : undefined
      let head = ''
      const open = (length: number) => {
        head += shared.toString('latin1', 0, length)
        if (head.includes('\r\n\r\n') && !head.startsWith('HTTP/1.1 200')) reject(new Error(`stream refused: ${head}`))
        if (!head.includes(openedBy)) return true
        take = attend ? (length: number) => count(length) && attend(shared.toString('latin1', 0, length)) : count
        resolve()
        return true
      }
      let take = open
      const callback = (length: number) => take(length)
      const socket = connect({ port, host: '127.0.0.1', onread: { buffer: shared, callback } })
      this.#sockets.push(socket)
      socket.on('error', (error) => {
        this.#broken ??= error.message
        reject(error)
      })
      socket.on('close', () => {
        if (!this.#closing) this.#broken ??= 'the server ended a stream'
        reject(new Error('the server ended a stream'))
      })
      socket.write(request(index))
    })
  }

  #witness(index: number) {
    this.#eventBytes.set(index, 0)
    let rest = ''
    return (text: string) => {
      const receivedAt = performance.now()
      const all = rest + text
      let begun = 0
      let bytes = 0
      for (let end = all.indexOf(frameEnd); end >= 0; end = all.indexOf(frameEnd, begun)) {
        const next = end + frameEnd.length
        const mark = all.indexOf(numberMark, begun)
        if (mark >= 0 && mark < end) {
          bytes += next - begun
          this.onArrival(numberAt(all, mark + numberMark.length), receivedAt)
        }
        begun = next
      }
      rest = all.slice(begun)
      this.#eventBytes.set(index, this.#eventBytes.get(index)! + bytes)
      return true
    }
  }

  /**
   * Remembers what was received so far. `settle` then waits until every stream has every event that the witnesses have
   * received since.
   */
  mark(): { settle(): Promise<void> } {
    const before = this.#bytes.slice()
    const eventsBefore = new Map(this.#eventBytes)
    return {
      settle: async () => {
        for (const until = performance.now() + timeoutMs; ; await delay(1)) {
          if (this.#broken) throw new Error(this.#broken)
          const wanted = Math.max(...[...this.#eventBytes].map(([index, bytes]) => bytes - eventsBefore.get(index)!))
          if (this.#bytes.every((bytes, index) => bytes - before[index]! >= wanted)) return
          if (performance.now() > until) throw new Error('not every stream got every event')
        }
      },
    }
  }

  /** @throws when a stream has ended or failed. */
  check() {
    if (this.#broken) throw new Error(this.#broken)
  }

  close() {
    this.#closing = true
    for (const socket of this.#sockets) socket.destroy()
  }
}
