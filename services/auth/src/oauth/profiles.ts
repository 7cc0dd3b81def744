import { type Claims, type Grant, isObject } from './grant.ts'
import { OauthFailure } from './oauth-failure.ts'

/** Who the provider says has signed in. Its address is one that may be believed. */
export interface Profile {
  email: string
  /** What they are called there, if anything. */
  name: string | undefined
}

/** Reads the profile of a provider's user. @throws OauthFailure also when no address of theirs may be believed. */
export type ReadProfile = (grant: Grant, userInfoUrl: string) => Promise<Profile>

/** OpenID Connect's claims; only an address that is said to be verified counts. */
export const readVerifiedClaims: ReadProfile = async (grant, url) => {
  const claims = await askObject(grant, url)
  return believed(claims.email, isTrue(claims.email_verified), claims.name)
}

/** A custom provider: its operator configured it, so an address counts unless the provider itself says that it does not. */
export const readTrustedClaims: ReadProfile = async (grant, url) => {
  const claims = await askObject(grant, url)
  const said = verifiedClaims.map((name) => claims[name]).filter((value) => value !== undefined)
  return believed(claims.email, said.every(isTrue), claims.name ?? claims.preferred_username)
}

/** GitHub's `/user` has an address only of people who show it, so it is read where verified ones are marked. */
export const readGithubProfile: ReadProfile = async (grant, url) => {
  const [user, emails] = await Promise.all([askObject(grant, url), grant.ask(`${url}/emails`)])
  const verified = (Array.isArray(emails) ? emails : [])
    .filter(isObject)
    .filter((entry) => isTrue(entry.verified) && !String(entry.email).endsWith('@users.noreply.github.com'))
  const best = verified.find(({ primary }) => primary === true) ?? verified[0]
  return believed(best?.email, best !== undefined, user.name ?? user.login)
}

/** GitLab's `email` is the confirmed one; only of an account that never confirmed any it is not. */
export const readGitlabProfile: ReadProfile = async (grant, url) => {
  const user = await askObject(grant, url)
  return believed(user.email, typeof user.confirmed_at === 'string', user.name ?? user.username)
}

/**
 * Microsoft: any directory's admin may write any address into it, so an address counts only with the claim that its
 * domain's owner was verified (`xms_edov`, an optional claim of the id token), unless people of one directory alone may
 * sign in.
 */
export const readMicrosoftProfile =
  (tenant: string | undefined): ReadProfile =>
  async (grant, url) => {
    const isOneDirectory = isDirectory(tenant)
    const { idClaims } = grant
    const said = idClaims.xms_edov
    const userInfo = await askObject(grant, url)
    const email = idClaims.email ?? (isOneDirectory ? userInfo.email : undefined)
    const counts = said === undefined ? isOneDirectory : isTrue(said)
    return believed(email, counts, idClaims.name ?? userInfo.name)
  }

/** Whether it names a single directory: these three words mean people of any. */
const isDirectory = (tenant: string | undefined) =>
  tenant !== undefined && !['common', 'organizations', 'consumers'].includes(tenant.toLowerCase())

const verifiedClaims = ['email_verified', 'verified_email', 'emailVerified']

/** Providers write true in several ways; everything else is not true. */
const isTrue = (value: unknown) => value === true || value === 1 || value === 'true' || value === '1'

async function askObject(grant: Grant, url: string): Promise<Claims> {
  const answer = await grant.ask(url)
  if (!isObject(answer)) {
    throw new OauthFailure('provider_unavailable', { cause: new Error('the profile is no JSON object') })
  }
  return answer
}

function believed(email: unknown, counts: boolean, name: unknown): Profile {
  if (typeof email !== 'string' || email === '' || !counts) throw new OauthFailure('no_verified_email')
  return { email, name: typeof name === 'string' && name !== '' ? name : undefined }
}
