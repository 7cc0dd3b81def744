import { invalid } from '@parley/contract'

/** The person for whom the password is. */
interface PasswordOwner {
  email: string
  /** Absent when the person has no name yet. */
  userName?: string
  displayName?: string | null
}

/**
 * Refuses a password that is one of the 49,000 most common ones, or the name or the address of its owner, in any case.
 * @throws ApiError 400
 */
export async function refuseWeakPassword(password: string, owner: PasswordOwner): Promise<void> {
  const { email, userName, displayName } = owner
  const wanted = folded(password)
  const own = [email, email.slice(0, email.lastIndexOf('@')), userName, displayName]
  if (own.some((text) => text && folded(text) === wanted)) {
    throw invalid('The password must not be your name or e-mail address', 'weak_password')
  }
  if ((await loadCommon()).has(wanted)) {
    throw invalid('This password is among the most common ones. Please choose another', 'weak_password')
  }
}

const folded = (text: string) => text.normalize('NFKC').trim().toLowerCase()

let common: Promise<ReadonlySet<string>> | undefined

/** Loaded when somebody first chooses a password, because most processes never need the list. */
const loadCommon = () => {
  common ??= import('@zxcvbn-ts/language-common').then(
    ({ dictionary }) => new Set(dictionary['passwords-common'].map((each) => each.toLowerCase())),
  )
  return common
}
