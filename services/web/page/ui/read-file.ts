import { RequestFailed } from '@parley/client'
import { t } from '../texts/texts.ts'

/**
 * The bytes of a file in base64, for requests of the API in JSON.
 * @throws RequestFailed when the browser cannot read the file.
 */
export async function base64Of(file: Blob): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const reader = new FileReader()
  reader.onload = () => resolve(String(reader.result).replace(/^data:[^,]*,/, ''))
  reader.onerror = () => reject(unreadable())
  reader.readAsDataURL(file)
  return promise
}

/** Reads the beginning of a file before its upload, because a later read error would look like a network error. @throws RequestFailed */
export async function tryToRead(file: File): Promise<void> {
  const reader = file.stream().getReader()
  await reader.read().catch(() => {
    throw unreadable()
  })
  await reader.cancel()
}

/** The error for a file that was moved or deleted, or that is a folder. */
const unreadable = () =>
  new RequestFailed(400, t('This file cannot be read. Perhaps it was moved or deleted, or it is a folder'))
