import type { ResponseOf } from '@parley/client'
import { useEffect, useState } from 'preact/hooks'
import { address, navigate } from '../app/address.ts'
import { askForPasskey } from '../app/passkeys.ts'
import { client, session } from '../app/session.ts'
import { takeSignInOptions } from '../app/sign-in-options.ts'
import { t } from '../texts/texts.ts'
import { showTitle } from '../ui/browser-tab.ts'
import { Field, Form } from '../ui/form.tsx'
import { NewPassword, readNewPassword } from '../ui/new-password.tsx'
import { textOf } from '../ui/problems.ts'
import { markIcon } from '../ui/tab-icon.ts'
import { SignInArt } from './art.tsx'
import { completeSignIn, waitingSignIn } from './complete-sign-in.ts'
import { EndOfSession } from './end-of-session.tsx'
import { providerRefusal } from './provider-refusals.ts'
import { PasskeyForm, SecondStep } from './second-step.tsx'

type SignInOptions = ResponseOf<'GET /config.json'>['auth']
type Provider = ResponseOf<'GET /auth/oauth/providers'>['providers'][number]
type Page = 'sign-in' | 'register' | 'forgotten'

/** The views before the sign-in. They depend on what the server offers, and on the link of a mail. */
export function SignIn() {
  const [options, setOptions] = useState<SignInOptions>()
  const [providers, setProviders] = useState<Provider[]>([])
  const [failure, setFailure] = useState<string>()
  const [page, setPage] = useState<Page>('sign-in')
  const [sentTo, setSentTo] = useState<string>()
  // The token is removed from the address after its use.
  const [link] = useState(readLink)

  useEffect(() => {
    void load().catch((error) => setFailure(textOf(error)))
  }, [])

  async function load() {
    showTitle('Parley')
    void markIcon(false)
    const { auth } = await takeSignInOptions()
    setOptions(auth)
    if (auth.oauthEnabled) setProviders((await client.request('GET /auth/oauth/providers')).providers)
    if (link.refusal !== null) setFailure(providerRefusal(link.refusal))
    const { value: shown } = address
    if (shown.view !== 'link' || link.token === null || shown.kind === 'reset') return
    // An invitation asks for a password only if the server has passwords.
    if (shown.kind === 'sign-in' || auth.mode !== 'password') await signInByLink(link.email, link.token)
  }

  const content = () => {
    if (failure && !options) return <p role="alert">{failure}</p>
    if (!options) return <p role="status">{t('Connecting…')}</p>
    if (waitingSignIn.value)
      return <SecondStep signIn={waitingSignIn.value} onBack={() => (waitingSignIn.value = null)} />
    const { value: shown } = address
    if (shown.view === 'link' && shown.kind !== 'sign-in')
      return <ChoosePassword email={link.email} token={link.token} />
    if (sentTo) return <LinkSent email={sentTo} onBack={() => setSentTo(undefined)} />
    if (page === 'forgotten') return <ForgottenPassword onSent={setSentTo} onBack={() => setPage('sign-in')} />
    if (page === 'register') return <Register onBack={() => setPage('sign-in')} />
    return <SignInMethods options={options} providers={providers} onPage={setPage} onSent={setSentTo} />
  }

  return (
    <>
      <img class="brand" src="/icon.svg" alt="" width={40} height={40} />
      {failure && options && (
        <div class="alert" role="alert">
          {failure}
        </div>
      )}
      {content()}
      <SignInArt />
    </>
  )
}

interface SignInMethodsProps {
  options: SignInOptions
  providers: Provider[]
  onPage: (page: Page) => void
  onSent: (email: string) => void
}

function SignInMethods({ options, providers, onPage, onSent }: SignInMethodsProps) {
  const { mode } = options
  const ended = session.value.state === 'signed-out' ? session.value.ended : undefined
  return (
    <>
      <div>
        <h1>{t('Sign in')}</h1>
        {ended && <EndOfSession key={ended.userId} {...ended} />}
      </div>
      <Form
        name={t('Sign in')}
        submitLabel={mode === 'magic-link' ? t('Send link') : t('Sign in')}
        onSubmit={async ({ email = '', password = '' }) => {
          if (mode === 'password')
            await completeSignIn(() => client.signIn('POST /auth/password-login', { body: { email, password } }))
          else if (mode === 'dev')
            await completeSignIn(() => client.signIn('POST /auth/dev-login', { body: { email } }))
          else {
            await client.request('POST /auth/login', { body: { email } })
            onSent(email)
          }
        }}
      >
        <EmailField
          hint={
            mode === 'dev'
              ? t('This server is in development mode: an address is enough, without a password')
              : undefined
          }
        />
        {mode === 'password' && (
          <Field label={t('Password')} name="password" type="password" autoComplete="current-password" required />
        )}
      </Form>
      <PasskeyForm
        onSubmit={async () => {
          const credential = await askForPasskey(client)
          await completeSignIn(() => client.signIn('POST /auth/passkeys/sign-in', { body: { credential } }))
        }}
      />
      {options.passwordResetEnabled && (
        <button type="button" class="link-button" onClick={() => onPage('forgotten')}>
          {t('Forgot password?')}
        </button>
      )}
      {options.registrationEnabled && (
        <button type="button" class="link-button" onClick={() => onPage('register')}>
          {t('Create account')}
        </button>
      )}
      {providers.map(({ id, name, loginUrl }) => (
        <a key={id} class="button" href={withCookie(loginUrl)} target="_self">
          {t('Continue with {name}', { name })}
        </a>
      ))}
    </>
  )
}

const EmailField = ({ email, hint }: { email?: string; hint?: string | undefined }) => (
  <Field
    label={t('Email')}
    hint={hint}
    name="email"
    type="email"
    autoComplete="username"
    defaultValue={email}
    readOnly={email !== undefined}
    autoFocus={email === undefined}
    required
  />
)

const BackToSignIn = ({ onBack }: { onBack: () => void }) => (
  <button type="button" class="link-button" onClick={onBack}>
    {t('Back to sign in')}
  </button>
)

const LinkSent = ({ email, onBack }: { email: string; onBack: () => void }) => (
  <>
    <div role="status">
      <h1>{t('Look into your mail')}</h1>
      <p>{t('If {email} may sign in here, a mail with a link is on its way.', { email })}</p>
    </div>
    <BackToSignIn onBack={onBack} />
  </>
)

const ForgottenPassword = ({ onSent, onBack }: { onSent: (email: string) => void; onBack: () => void }) => (
  <>
    <h1>{t('Reset password')}</h1>
    <Form
      submitLabel={t('Send reset link')}
      onSubmit={async ({ email = '' }) => {
        await client.request('POST /auth/request-password-reset', { body: { email } })
        onSent(email)
      }}
    >
      <EmailField />
    </Form>
    <BackToSignIn onBack={onBack} />
  </>
)

const Register = ({ onBack }: { onBack: () => void }) => (
  <>
    <h1>{t('Create account')}</h1>
    <Form
      submitLabel={t('Create account')}
      onSubmit={(fields) => {
        const body = { email: fields.email!, password: readNewPassword(fields) }
        return completeSignIn(() => client.signIn('POST /auth/register', { body }))
      }}
    >
      <EmailField />
      <NewPassword label={t('Password')} />
    </Form>
    <BackToSignIn onBack={onBack} />
  </>
)

/** The view of the links for a reset or an invitation. */
const ChoosePassword = ({ email, token }: { email: string; token: string | null }) => (
  <>
    <h1>{t('Choose a password')}</h1>
    <Form
      submitLabel={t('Set password')}
      onSubmit={async (fields) => {
        const body = { email, password: readNewPassword(fields), ...(token !== null && { token }) }
        await completeSignIn(() => client.signIn('POST /auth/setup-password', { body }))
      }}
    >
      <EmailField email={email} />
      <NewPassword isRepeated autoFocus />
    </Form>
    {/* The page is loaded again, because it may have a session besides this link. */}
    <a href="/" target="_self">
      {t('Back to sign in')}
    </a>
  </>
)

/** Signs in with the token of a mailed link, and removes the token from the address. */
async function signInByLink(email: string, token: string) {
  navigate('/', { replace: true })
  await completeSignIn(() => client.signIn('POST /auth/verify', { body: { email }, token }))
}

function readLink() {
  const query = new URLSearchParams(location.search)
  const token = query.get('token')
  return { email: query.get('email') ?? '', token, refusal: query.get('oauth_error') }
}

/** Adds `session=cookie` to the address of a provider, so that the sign-in ends with a session cookie and no token is in the address. */
function withCookie(loginUrl: string): string {
  const url = new URL(loginUrl, location.origin)
  url.searchParams.set('session', 'cookie')
  return url.pathname + url.search
}
