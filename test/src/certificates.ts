import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto'

export interface CertifiedKey {
  /** In PEM. */
  privateKey: string
  /** In PEM. */
  certificate: string
}

/**
 * A key with a certificate that it signs itself (RFC 5280), valid from `from` to `until`. Node can read certificates,
 * but not create them.
 */
export function createCertifiedKey({ from = '20200101000000Z', until = '21200101000000Z' } = {}): CertifiedKey {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  const algorithm = sequence(Buffer.from('06092a864886f70d01010b0500', 'hex'))
  const name = sequence(der(0x31, sequence(Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from('idp')))))
  const validity = sequence(der(0x18, Buffer.from(from)), der(0x18, Buffer.from(until)))
  const version = der(0xa0, der(0x02, Buffer.from([2])))
  const content = sequence(version, der(0x02, Buffer.from([1])), algorithm, name, validity, name, publicKey)
  const signature = der(0x03, Buffer.from([0]), sign('sha256', content, privateKey))
  const base64 = sequence(content, algorithm, signature).toString('base64')
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: `-----BEGIN CERTIFICATE-----\n${base64.replaceAll(/(.{64})/g, '$1\n')}\n-----END CERTIFICATE-----\n`,
  }
}

const sequence = (...parts: Buffer[]) => der(0x30, ...parts)

/** A tag, the length and the content (X.690, 8.1). */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
