import type { ResponseOf } from '@parley/client'
import { useSignal } from '@preact/signals'
import { NotFetched, useFetched } from '../app/fetched.tsx'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { attempt } from '../ui/problems.ts'
import { RequestButton } from '../ui/request-button.tsx'

type Provider = ResponseOf<'GET /admin/sso'>['providers'][number]
type Outcome = ResponseOf<'POST /admin/sso/:providerId/test'>

/** The sign-in providers, with the addresses that must be configured there, and with their errors. */
export function SignInProviders({ workspace }: { workspace: Workspace }) {
  const data = useFetched(() => workspace.client.request('GET /admin/sso'))
  if (!data.fetched.value) return <NotFetched of={data} />
  const { providers } = data.fetched.value
  if (providers.length === 0) {
    return <p>{t('No provider is configured. Providers are set up in the configuration of the server.')}</p>
  }
  return providers.map((provider) => <Entry key={provider.id} workspace={workspace} provider={provider} />)
}

function Entry({ workspace, provider }: { workspace: Workspace; provider: Provider }) {
  const outcome = useSignal<Outcome | null>(null)
  const { id, name, protocol, callbackUrl, logoutUrl, entityId } = provider
  const protocols = { oauth: 'OAuth 2.0', openid: 'OpenID Connect', saml: 'SAML 2.0' }

  async function test() {
    const params = { providerId: id }
    outcome.value = (await attempt(workspace.client.request('POST /admin/sso/:providerId/test', { params }))) ?? null
  }

  return (
    <section aria-label={name}>
      <h2>
        {name} <span class="bot">{protocols[protocol]}</span>
      </h2>
      <dl>
        <dt>{t('Address to which the provider sends people back')}</dt>
        <dd>
          <code>{callbackUrl}</code>
        </dd>
        {entityId && <dt>{t('Entity id of this server')}</dt>}
        {entityId && (
          <dd>
            <code>{entityId}</code>
          </dd>
        )}
        {logoutUrl && <dt>{t('Address to which the provider reports logouts')}</dt>}
        {logoutUrl && (
          <dd>
            <code>{logoutUrl}</code>
          </dd>
        )}
      </dl>
      <RequestButton onRequest={test}>{t('Test this provider')}</RequestButton>
      <div role="status">{outcome.value && <Findings outcome={outcome.value} />}</div>
    </section>
  )
}

const Findings = ({ outcome: { works, findings } }: { outcome: Outcome }) => {
  const levels = { ok: t('Good'), warning: t('Warning'), error: t('Error') }
  return (
    <>
      <p>
        <strong>
          {works ? t('People can sign in with this provider.') : t('Nobody can sign in with this provider.')}
        </strong>
      </p>
      <ul>
        {findings.map(({ level, message }) => (
          <li key={message}>
            <strong>{levels[level]}:</strong> {message}
          </li>
        ))}
      </ul>
    </>
  )
}
