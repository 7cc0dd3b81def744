const revokeAfterMs = 60_000

/** Saves bytes as a download of the browser. */
export function save(bytes: Blob, filename: string) {
  const url = URL.createObjectURL(bytes)
  Object.assign(document.createElement('a'), { href: url, download: filename }).click()
  // By then the download has begun, and does not need the object URL any more.
  setTimeout(() => URL.revokeObjectURL(url), revokeAfterMs)
}
