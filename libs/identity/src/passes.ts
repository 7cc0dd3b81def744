import { unauthorized } from '@parley/contract'
import type { Seals } from './seals.ts'

interface Pass {
  /** Epoch milliseconds. */
  expiresAt: number
}

/** What an app may do, on the word of the service that has just heard from it: speak as its bot in one channel. */
export interface AppPass extends Pass {
  botId: string
  /** Row id of the channel or conversation in which somebody has used the app. */
  channelId: string
}

/** An upload that was announced: whoever shows the pass may send its bytes, with the rights of the token within. */
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

/** Only who has the secrets of `seals` can write a pass, or read what is in it. */
export const writeAppPass = (seals: Seals, pass: AppPass): string => seals.seal(JSON.stringify(pass), appContext)
export const writeUploadPass = (seals: Seals, pass: UploadPass): string =>
  seals.seal(JSON.stringify(pass), uploadContext)

/** @throws ApiError 401 when it was not written with these secrets, or has expired. */
export const readAppPass = (seals: Seals, text: string, now: number): AppPass =>
  read(seals.open(text, appContext), now, 'This is no valid pass of an app')

/** @throws as `readAppPass`. */
export const readUploadPass = (seals: Seals, text: string, now: number): UploadPass =>
  read(seals.open(text, uploadContext), now, 'This address takes no file any more. Please ask for a new one')

function read<P extends Pass>(opened: string | undefined, now: number, refusal: string): P {
  const pass: P | undefined = opened === undefined ? undefined : JSON.parse(opened)
  if (!pass || pass.expiresAt <= now) throw unauthorized(refusal)
  return pass
}
