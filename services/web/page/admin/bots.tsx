import type { Bot } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useConfirmation } from '../account/confirmation.tsx'
import { NotFetched, useFetched } from '../app/fetched.tsx'
import type { Workspace } from '../app/workspace.ts'
import { ConfirmRequest } from '../dialogs/confirm-request.tsx'
import { dateTimeOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { allScopes, Tokens } from '../tokens/tokens.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { passFocus } from '../ui/focus.ts'
import { Field, Form } from '../ui/form.tsx'
import { maxDisplayName, maxUserName } from '../ui/limits.ts'
import { Menu } from '../ui/menu.tsx'
import { ListTable } from '../ui/table.tsx'
import { BotApp } from './bot-app.tsx'

type Task = 'tokens' | 'app' | 'remove'
type OpenDialog = { task: 'create' } | { task: Task; bot: Bot }

/** The bots, and their API tokens. */
export function Bots({ workspace }: { workspace: Workspace }) {
  const { client } = workspace
  const data = useFetched(() => client.request('GET /bots'))
  const { fetched, load } = data
  const openDialog = useSignal<OpenDialog | null>(null)
  const bots = fetched.value?.bots
  const { value: dialog } = openDialog
  const close = () => {
    openDialog.value = null
  }
  return (
    <>
      <p>
        <button type="button" class="button primary" onClick={() => (openDialog.value = { task: 'create' })}>
          {t('Create bot')}
        </button>
      </p>
      <NotFetched of={data} />
      <ListTable
        list={bots}
        none={t('There are no bots yet.')}
        heads={[t('Name'), t('Full name'), t('Since')]}
        hasActions
      >
        {(bot) => <BotRow key={bot.id} bot={bot} onChoose={(task) => (openDialog.value = { task, bot })} />}
      </ListTable>
      {dialog?.task === 'create' && (
        <CreateBot
          workspace={workspace}
          onCreated={(bot) => {
            void load()
            // A bot needs a token, so its tokens are shown next.
            openDialog.value = { task: 'tokens', bot }
          }}
          onClose={() => {
            if (openDialog.value?.task === 'create') close()
          }}
        />
      )}
      {dialog?.task === 'tokens' && <BotTokens workspace={workspace} bot={dialog.bot} onClose={close} />}
      {dialog?.task === 'app' && (
        <BotApp workspace={workspace} bot={dialog.bot} onChanged={() => void load()} onClose={close} />
      )}
      {dialog?.task === 'remove' && (
        <ConfirmRequest
          name={t('Remove bot')}
          question={t('The tokens and memberships of {name} end at once. Its messages stay.', {
            name: dialog.bot.userName,
          })}
          confirmLabel={t('Remove')}
          onConfirm={() => {
            const params = { botId: dialog.bot.id }
            return client.request('DELETE /bots/:botId', { params }).finally(() => void load())
          }}
          onClose={close}
        />
      )}
    </>
  )
}

const BotRow = ({ bot, onChoose }: { bot: Bot; onChoose: (task: Task) => void }) => (
  <tr ref={passFocus}>
    <th scope="row">
      <bdi>{bot.userName}</bdi> {!bot.isActive && <span class="bot">{t('Deactivated')}</span>}
    </th>
    <td dir="auto">{bot.displayName}</td>
    <td class="moment">{dateTimeOf(bot.createdAt)}</td>
    <td>
      <Menu
        name={t('Actions for {name}', { name: bot.userName })}
        items={[
          { name: t('API tokens'), onChoose: () => onChoose('tokens') },
          { name: t('Buttons and signing secret'), onChoose: () => onChoose('app') },
          { name: t('Remove'), isDangerous: true, onChoose: () => onChoose('remove') },
        ]}
      />
    </td>
  </tr>
)

interface CreateBotProps {
  workspace: Workspace
  onCreated: (bot: Bot) => void
  onClose: () => void
}

const CreateBot = ({ workspace: { client }, onCreated, onClose }: CreateBotProps) => (
  <Dialog name={t('Create bot')} onClose={onClose}>
    <Form
      submitLabel={t('Create')}
      onSubmit={async ({ userName = '', displayName = '' }) => {
        const body = { userName, ...(displayName.trim() !== '' && { displayName }) }
        onCreated((await client.request('POST /bots', { body })).bot)
      }}
    >
      <Field
        label={t('Name')}
        hint={t('The name for mentions')}
        name="userName"
        maxLength={maxUserName}
        required
        autoFocus
      />
      <Field label={t('Full name')} name="displayName" maxLength={maxDisplayName} />
    </Form>
  </Dialog>
)

function BotTokens({ workspace: { client }, bot, onClose }: { workspace: Workspace; bot: Bot; onClose: () => void }) {
  const { confirmed, dialog } = useConfirmation()
  const params = { botId: bot.id }
  return (
    <>
      <Dialog name={t('API tokens of {name}', { name: bot.userName })} class="wide" onClose={onClose}>
        <Tokens
          scopes={allScopes.filter((scope) => scope !== 'admin')}
          list={() => client.request('GET /bots/:botId/tokens', { params })}
          create={(token) =>
            confirmed((proof) => client.request('POST /bots/:botId/tokens', { params, body: { ...token, ...proof } }))
          }
          remove={(tokenId) =>
            client.request('DELETE /bots/:botId/tokens/:tokenId', { params: { ...params, tokenId } })
          }
        />
      </Dialog>
      {dialog}
    </>
  )
}
