import { type Client, RequestFailed, type Routes } from '@parley/client'
import { t } from '../texts/texts.ts'

type Shown = NonNullable<Routes['POST /auth/mfa']['body']['credential']>
type Made = Routes['POST /auth/passkeys']['body']['credential']

const isIpAddress = /^[\d.]+$|^\[/.test(location.hostname)

/** Whether this browser can use passkeys on this page: over https, or on localhost, and never at a bare IP address. */
export const knowsPasskeys =
  typeof PublicKeyCredential !== 'undefined' && 'parseRequestOptionsFromJSON' in PublicKeyCredential && !isIpAddress

/** Lets the person sign with a passkey: one for the sign-in that waits, or any that the browser has for this server. */
export async function showPasskey(client: Client, mfaToken?: string): Promise<Shown> {
  const body = mfaToken === undefined ? {} : { mfaToken }
  const { options } = await client.request('POST /auth/passkeys/authentication', { body })
  const asked = options as unknown as PublicKeyCredentialRequestOptionsJSON
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(asked)
  return (await settle(navigator.credentials.get({ publicKey }))).toJSON() as unknown as Shown
}

/** Makes a passkey of the person who is signed in. */
export async function makePasskey(client: Client): Promise<Made> {
  const { options } = await client.request('POST /auth/passkeys/registration')
  const asked = options as unknown as PublicKeyCredentialCreationOptionsJSON
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(asked)
  return (await settle(navigator.credentials.create({ publicKey }))).toJSON() as unknown as Made
}

/** Browsers tell no page why there is no passkey: the person has cancelled, or has none. */
async function settle(asking: Promise<Credential | null>): Promise<PublicKeyCredential> {
  try {
    const credential = await asking
    if (credential instanceof PublicKeyCredential) return credential
  } catch (error) {
    if (!(error instanceof DOMException)) throw error
    if (error.name === 'InvalidStateError') throw new RequestFailed(409, t('This device has a passkey for you already'))
  }
  throw new RequestFailed(400, t('No passkey was used. Please try again'))
}
