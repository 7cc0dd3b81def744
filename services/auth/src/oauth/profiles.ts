import { type Claims, isObject } from '../single-sign-on/claims.ts'
import { SignInFailure } from '../single-sign-on/sign-in-failure.ts'

/** The access that a provider granted for a code. */
export interface Grant {
  /** Reads JSON from this address with the access token. @throws SignInFailure */
  ask(url: string): Promise<unknown>
  /** The claims of the id token, if there is one. It came from the provider over TLS, so its signature is not checked. */
  idClaims: Claims
}

/** The person who signed in at the provider. The address can be trusted. */
export interface Profile {
  email: string
  /** Their name at the provider, if they have one. */
  name: string | undefined
}

/** Reads the profile of a provider's user. @throws SignInFailure also when none of their addresses can be trusted. */
export type ReadProfile = (grant: Grant, userInfoUrl: string) => Promise<Profile>

/** The claims of OpenID Connect. Only an address that is marked as verified is trusted. */
export const readVerifiedClaims: ReadProfile = async (grant, url) => {
  const claims = await askObject(grant, url)
  return trustedProfile(claims.email, isTrue(claims.email_verified), claims.name)
}

/** A custom provider. The operator configured it, so an address is trusted unless the provider marks it as not verified. */
export const readTrustedClaims: ReadProfile = async (grant, url) => {
  const claims = await askObject(grant, url)
  const marks = verifiedClaims.map((name) => claims[name]).filter((value) => value !== undefined)
  return trustedProfile(claims.email, marks.every(isTrue), claims.name ?? claims.preferred_username)
}

/** GitHub. `/user` has only public addresses, so the address is read from `/user/emails`, which marks verified addresses. */
export const readGithubProfile: ReadProfile = async (grant, url) => {
  const [user, emails] = await Promise.all([askObject(grant, url), grant.ask(`${url}/emails`)])
  const verified = (Array.isArray(emails) ? emails : [])
    .filter(isObject)
    .filter((entry) => isTrue(entry.verified) && !String(entry.email).endsWith('@users.noreply.github.com'))
  const best = verified.find(({ primary }) => primary === true) ?? verified[0]
  return trustedProfile(best?.email, best !== undefined, user.name ?? user.login)
}

/** GitLab. `email` is the confirmed address, unless the account never confirmed one. */
export const readGitlabProfile: ReadProfile = async (grant, url) => {
  const user = await askObject(grant, url)
  return trustedProfile(user.email, typeof user.confirmed_at === 'string', user.name ?? user.username)
}

/**
 * Microsoft. The admin of a directory may write any address into it, so an address is trusted only when the optional claim `xms_edov` of
 * the id token says that the owner of its domain was verified. When only people of one directory may sign in, the claim is not needed.
 */
export const readMicrosoftProfile =
  (tenant: string | undefined): ReadProfile =>
  async (grant, url) => {
    const isOneDirectory = isDirectory(tenant)
    const { idClaims } = grant
    const isDomainVerified = idClaims.xms_edov
    const userInfo = await askObject(grant, url)
    const email = idClaims.email ?? (isOneDirectory ? userInfo.email : undefined)
    const isTrusted = isDomainVerified === undefined ? isOneDirectory : isTrue(isDomainVerified)
    return trustedProfile(email, isTrusted, idClaims.name ?? userInfo.name)
  }

/** Whether the tenant is a single directory. These three words stand for any directory. */
const isDirectory = (tenant: string | undefined) =>
  tenant !== undefined && !['common', 'organizations', 'consumers'].includes(tenant.toLowerCase())

const verifiedClaims = ['email_verified', 'verified_email', 'emailVerified']

/** Whether the value is one of the ways in which providers write true. */
export const isTrue = (value: unknown) => value === true || value === 1 || value === 'true' || value === '1'

async function askObject(grant: Grant, url: string): Promise<Claims> {
  const answer = await grant.ask(url)
  if (!isObject(answer)) {
    throw new SignInFailure('provider_unavailable', { cause: new Error('the profile is not a JSON object') })
  }
  return answer
}

function trustedProfile(email: unknown, isTrusted: boolean, name: unknown): Profile {
  if (typeof email !== 'string' || email === '' || !isTrusted) throw new SignInFailure('no_verified_email')
  return { email, name: typeof name === 'string' && name !== '' ? name : undefined }
}
