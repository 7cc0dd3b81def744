import { unauthorized } from '@parley/contract'
import type { Seals } from './seals.ts'

interface Pass {
  /** Epoch milliseconds. */
  expiresAt: number
}

/** Lets the holder post as the bot of an app in one channel. The service that has just called the app writes it. */
export interface AppPass extends Pass {
  botId: string
  /** Row id of the channel or conversation in which somebody used the app. */
  channelId: string
}

/** Lets the holder send the bytes of an announced upload, with the rights of the token in the pass. */
export interface UploadPass extends Pass {
  token: string
  /** The name under which the upload will be stored. */
  filename: string
  originalName: string
  /** In bytes. */
  size: number
}

const appContext = 'app pass'
const uploadContext = 'upload pass'

/** The text of a pass. It can be written and read only with the secrets of `seals`. */
export const writeAppPass = (seals: Seals, pass: AppPass): string => seals.seal(JSON.stringify(pass), appContext)

/** As `writeAppPass`. */
export const writeUploadPass = (seals: Seals, pass: UploadPass): string =>
  seals.seal(JSON.stringify(pass), uploadContext)

/** @throws ApiError 401 when the pass was not written with these secrets, or has expired. */
export const readAppPass = (seals: Seals, text: string, now: number): AppPass =>
  read(seals.open(text, appContext), now, 'The pass of the app is not valid')

/** @throws as `readAppPass`. */
export const readUploadPass = (seals: Seals, text: string, now: number): UploadPass =>
  read(seals.open(text, uploadContext), now, 'This upload address has expired. Please ask for a new one')

function read<P extends Pass>(opened: string | undefined, now: number, refusal: string): P {
  const pass: P | undefined = opened === undefined ? undefined : JSON.parse(opened)
  if (!pass || pass.expiresAt <= now) throw unauthorized(refusal)
  return pass
}
