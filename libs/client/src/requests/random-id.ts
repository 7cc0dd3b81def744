/** A unique random text, such as an `Idempotency-Key`. Pages without https have no `crypto.randomUUID`. */
export const randomId = (): string =>
  crypto.randomUUID?.() ??
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
