import { createHash } from 'node:crypto'
import { type ChallengePurpose, deleteSomeExpired, type Reader } from '@parley/database'

/** How long a person may take to answer a challenge, in milliseconds. */
export const challengeLifetimeMs = 300_000

interface NewChallenge {
  challenge: string
  purpose: ChallengePurpose
  /** The person whose passkey is expected; null when anybody may answer. */
  userId: string | null
  now: number
}

/** Stores a challenge, and deletes a few expired ones. */
export async function insertChallenge(db: Reader, { challenge, purpose, userId, now }: NewChallenge): Promise<void> {
  await db
    .insertInto('webauthnChallenges')
    .values({ challengeHash: digest(challenge), purpose, userId, expiresAt: now + challengeLifetimeMs })
    .execute()
  await deleteSomeExpired(db, 'webauthnChallenges', now)
}

/**
 * Consumes the challenge of an answer, and returns it with the id of its person and its end. Undefined when it is
 * unknown, was used, or has expired.
 */
export async function takeChallenge(db: Reader, answer: Answer, purpose: ChallengePurpose, now: number) {
  const challenge = readChallenge(answer)
  if (challenge === undefined) return undefined
  const taken = await db
    .deleteFrom('webauthnChallenges')
    .where('challengeHash', '=', digest(challenge))
    .where('purpose', '=', purpose)
    .where('expiresAt', '>', now)
    .returning(['userId', 'expiresAt'])
    .executeTakeFirst()
  return taken && { challenge, ...taken }
}

/** The part of a credential that repeats the challenge. */
type Answer = { response: { clientDataJSON: string } }

/** The challenge that an answer claims to be for. */
function readChallenge({ response }: Answer): string | undefined {
  try {
    const { challenge } = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString())
    return typeof challenge === 'string' ? challenge : undefined
  } catch {
    return undefined
  }
}

const digest = (challenge: string) => createHash('sha256').update(challenge).digest()
