/**
 * The pattern of 32 bytes in base64url. Of 43 characters the last one holds only four bits, so a decoder reads several
 * characters alike: the pattern has the one that an encoder writes. A token then has one spelling, and whoever counts or
 * remembers tokens by their text cannot be deceived.
 */
export const base64urlOf32Bytes = '[\\w-]{42}[AEIMQUYcgkosw048]'
