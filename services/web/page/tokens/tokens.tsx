import type { ApiToken, NewApiToken, TokenScope } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { NotFetched, useFetched } from '../app/fetched.tsx'
import { ConfirmRequest } from '../dialogs/confirm-request.tsx'
import { dateTimeOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { endOfDay } from '../ui/days.ts'
import { passFocus } from '../ui/focus.ts'
import { Field, Select } from '../ui/form.tsx'
import { maxTokenName } from '../ui/limits.ts'
import { SecretDialog } from '../ui/secret-dialog.tsx'
import { ListTable } from '../ui/table.tsx'

/** The scopes in ascending order. Each includes the previous ones. */
export const allScopes: readonly TokenScope[] = ['read', 'write', 'admin']

type CreateToken = (body: NewApiToken) => Promise<{ token: string }>

interface TokensProps {
  list: () => Promise<{ tokens: readonly ApiToken[] }>
  remove: (tokenId: string) => Promise<unknown>
  /** Set if tokens can be created here, and not only deleted. */
  create?: CreateToken
  /** The scopes that a new token may have. */
  scopes?: readonly TokenScope[]
}

/** The API tokens of a person or bot. They are created here, shown once, and deleted here. */
export function Tokens({ list, remove, create, scopes = [] }: TokensProps) {
  const data = useFetched(() => list())
  const { fetched, load } = data
  const isCreating = useSignal(false)
  const removing = useSignal<ApiToken | null>(null)
  const tokens = fetched.value?.tokens
  return (
    <>
      {create && (
        <p>
          <button type="button" class="button primary" onClick={() => (isCreating.value = true)}>
            {t('Create token')}
          </button>
        </p>
      )}
      <NotFetched of={data} />
      <ListTable
        list={tokens}
        none={t('There are no API tokens.')}
        heads={[t('Name'), t('Scope'), t('Since'), t('Last used'), t('Expires')]}
        hasActions
      >
        {(token) => (
          <tr ref={passFocus} key={token.id}>
            <th scope="row" dir="auto" id={`${token.id}-name`}>
              {token.name}
            </th>
            <td>{scopeName(token.scopes)}</td>
            <td class="moment">{dateTimeOf(token.createdAt)}</td>
            <td class="moment">{token.lastUsedAt === null ? t('Never') : dateTimeOf(token.lastUsedAt)}</td>
            <td class="moment">{token.expiresAt === null ? t('Never') : dateTimeOf(token.expiresAt)}</td>
            <td>
              <button
                type="button"
                class="button"
                aria-describedby={`${token.id}-name`}
                onClick={() => (removing.value = token)}
              >
                {t('Revoke')}
              </button>
            </td>
          </tr>
        )}
      </ListTable>
      {isCreating.value && create && (
        <NewToken
          scopes={scopes}
          create={create}
          onCreated={() => void load()}
          onClose={() => (isCreating.value = false)}
        />
      )}
      {removing.value && (
        <ConfirmRequest
          name={t('Revoke token')}
          question={t('Programs that use {name} have no access any more.', { name: removing.value.name })}
          confirmLabel={t('Revoke')}
          onConfirm={() => remove(removing.value!.id).finally(() => void load())}
          onClose={() => (removing.value = null)}
        />
      )}
    </>
  )
}

interface NewTokenProps {
  scopes: readonly TokenScope[]
  create: CreateToken
  onCreated: () => void
  onClose: () => void
}

/** Creates an API token and shows it once. */
const NewToken = ({ scopes, create, onCreated, onClose }: NewTokenProps) => (
  <SecretDialog
    name={t('Create token')}
    submitLabel={t('Create')}
    secretLabel={t('Token')}
    onSubmit={async ({ name = '', scope, expiresAt: lastDay = '' }) => {
      const expiresAt = endOfDay(lastDay)
      const body = { name, scopes: [scope as TokenScope], ...(expiresAt !== undefined && { expiresAt }) }
      const { token } = await create(body)
      onCreated()
      return token
    }}
    onClose={onClose}
  >
    <Field
      label={t('Name')}
      hint={t('What the token is for')}
      name="name"
      maxLength={maxTokenName}
      required
      autoFocus
    />
    <Select label={t('Scope')} name="scope" options={scopes.map((scope) => [scope, scopeName([scope])] as const)} />
    <Field
      label={t('Last day')}
      hint={t('Without a date the token lasts until it is revoked')}
      name="expiresAt"
      type="date"
    />
  </SecretDialog>
)

/** The description of the rights of a token with these scopes. */
function scopeName(scopes: readonly TokenScope[]): string {
  const names = { read: t('Read'), write: t('Read and write'), admin: t('Everything that an admin may do') }
  return names[allScopes.findLast((scope) => scopes.includes(scope)) ?? 'read']
}
