import { RequestFailed } from '@parley/client'
import { t } from '../texts/texts.ts'

/**
 * The bytes of a file in base64, as the API takes them within JSON.
 * @throws RequestFailed when the browser cannot read the file.
 */
export async function base64Of(file: File): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const reader = new FileReader()
  reader.onload = () => resolve(String(reader.result).replace(/^data:[^,]*,/, ''))
  reader.onerror = () => reject(unreadable())
  reader.readAsDataURL(file)
  return promise
}

/** Reads the beginning of a file: a failure while it is sent would look like one of the network. @throws RequestFailed */
export async function tryToRead(file: File): Promise<void> {
  const reader = file.stream().getReader()
  await reader.read().catch(() => {
    throw unreadable()
  })
  await reader.cancel()
}

/** The file was moved or deleted, or it is a folder. */
const unreadable = () =>
  new RequestFailed(400, t('This file cannot be read. Perhaps it was moved or deleted, or it is a folder'))
