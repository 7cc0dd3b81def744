const addressLastsMs = 60_000

/** Hands bytes to the browser as a file. */
export function save(bytes: Blob, filename: string) {
  const url = URL.createObjectURL(bytes)
  Object.assign(document.createElement('a'), { href: url, download: filename }).click()
  // The download has begun by then; the address is not needed any more.
  setTimeout(() => URL.revokeObjectURL(url), addressLastsMs)
}
