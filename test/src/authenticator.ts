import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'

interface CreationOptions {
  rp: { id: string }
  user: { id: string }
  challenge: string
}
interface RequestOptions {
  rpId: string
  challenge: string
}

/** The errors of an answer. */
export interface Flaws {
  origin?: string
  rpId?: string
  challenge?: string
  /** Sets the counter to this; otherwise it grows by one. */
  counter?: number
  /** Flags of the authenticator data without user verification. */
  isUnverified?: boolean
  userHandle?: string
  isForged?: boolean
}

const flag = { present: 1, verified: 4, attested: 64 }

/** An authenticator in software, with one ES256 passkey. It behaves like a browser together with a security key. */
export class Authenticator {
  readonly id = randomBytes(32).toString('base64url')
  readonly #key: KeyObject
  readonly #coseKey: Uint8Array
  #userHandle = ''
  counter = 0

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { x, y } = publicKey.export({ format: 'jwk' })
    this.#key = privateKey
    // COSE (RFC 9052): kty EC2, alg ES256, curve P-256 and the coordinates.
    this.#coseKey = isoCBOR.encode(
      new Map<number, number | Uint8Array>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, bytes(x!)],
        [-3, bytes(y!)],
      ]) as never,
    )
  }

  /** The answer to creation options. */
  register(options: CreationOptions, origin: string, flaws: Flaws = {}) {
    this.#userHandle = options.user.id
    const idLength = Buffer.alloc(2)
    idLength.writeUInt16BE(bytes(this.id).length)
    const attested = Buffer.concat([Buffer.alloc(16), idLength, bytes(this.id), this.#coseKey])
    const authData = Buffer.concat([this.#head(options.rp.id, flag.attested, flaws), attested])
    const attestation = new Map<string, unknown>([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', new Uint8Array(authData)],
    ])
    return this.#credential({
      clientDataJSON: clientData('webauthn.create', options.challenge, origin, flaws).toString('base64url'),
      attestationObject: Buffer.from(isoCBOR.encode(attestation as never)).toString('base64url'),
      transports: ['usb'],
    })
  }

  /** The answer to request options. */
  answer(options: RequestOptions, origin: string, flaws: Flaws = {}) {
    this.counter = flaws.counter ?? this.counter + 1
    const authenticatorData = this.#head(options.rpId, 0, flaws)
    const client = clientData('webauthn.get', options.challenge, origin, flaws)
    const signed = Buffer.concat([authenticatorData, createHash('sha256').update(client).digest()])
    return this.#credential({
      clientDataJSON: client.toString('base64url'),
      authenticatorData: authenticatorData.toString('base64url'),
      signature: sign('sha256', flaws.isForged ? Buffer.from('something else') : signed, this.#key).toString(
        'base64url',
      ),
      userHandle: flaws.userHandle ?? this.#userHandle,
    })
  }

  #head(rpId: string, more: number, flaws: Flaws): Buffer {
    const flags = flag.present | (flaws.isUnverified ? 0 : flag.verified) | more
    const tail = Buffer.alloc(5)
    tail.writeUInt8(flags)
    tail.writeUInt32BE(this.counter, 1)
    const hash = createHash('sha256').update(flaws.rpId ?? rpId)
    return Buffer.concat([hash.digest(), tail])
  }

  #credential<Response>(response: Response) {
    return { id: this.id, rawId: this.id, type: 'public-key', clientExtensionResults: {}, response }
  }
}

const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64url'))

const clientData = (type: string, challenge: string, origin: string, flaws: Flaws) =>
  Buffer.from(
    JSON.stringify({
      type,
      challenge: flaws.challenge ?? challenge,
      origin: flaws.origin ?? origin,
      crossOrigin: false,
    }),
  )
