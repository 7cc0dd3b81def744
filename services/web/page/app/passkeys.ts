import { type Client, RequestFailed, type Routes } from '@parley/client'
import { t } from '../texts/texts.ts'

type Assertion = NonNullable<Routes['POST /auth/mfa']['body']['credential']>
type Proof = NonNullable<Routes['POST /auth/passkeys/registration']['body']>
type NewCredential = Routes['POST /auth/passkeys']['body']['credential']

const isIpAddress = /^[\d.]+$|^\[/.test(location.hostname)

/** Whether this browser supports passkeys on this page: with https or on localhost, but not at an IP address. */
export const supportsPasskeys =
  typeof PublicKeyCredential !== 'undefined' && 'parseRequestOptionsFromJSON' in PublicKeyCredential && !isIpAddress

/**
 * Asks the person for a passkey: with `mfaToken` one of the person who is signing in, otherwise any passkey that the browser has for this
 * server.
 */
export async function askForPasskey(client: Client, mfaToken?: string): Promise<Assertion> {
  const body = mfaToken === undefined ? {} : { mfaToken }
  const { options } = await client.request('POST /auth/passkeys/authentication', { body })
  const json = options as unknown as PublicKeyCredentialRequestOptionsJSON
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(json)
  return (await credentialOf(navigator.credentials.get({ publicKey }))).toJSON() as unknown as Assertion
}

/** Creates a passkey of the signed-in person. `proof` is needed when the server asks for one. */
export async function createPasskey(client: Client, proof: Proof): Promise<NewCredential> {
  const { options } = await client.request('POST /auth/passkeys/registration', { body: proof })
  const json = options as unknown as PublicKeyCredentialCreationOptionsJSON
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(json)
  return (await credentialOf(navigator.credentials.create({ publicKey }))).toJSON() as unknown as NewCredential
}

/** Waits for the browser's dialog. Browsers do not report whether the person has cancelled it, or has no passkey. */
async function credentialOf(dialog: Promise<Credential | null>): Promise<PublicKeyCredential> {
  try {
    const credential = await dialog
    if (credential instanceof PublicKeyCredential) return credential
  } catch (error) {
    if (!(error instanceof DOMException)) throw error
    if (error.name === 'InvalidStateError') throw new RequestFailed(409, t('This device already has a passkey for you'))
  }
  throw new RequestFailed(400, t('No passkey was used. Please try again'))
}
