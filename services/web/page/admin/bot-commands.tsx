import type { Bot } from '@parley/contract'
import { useSignal } from '@preact/signals'
import type { Command } from '../app/commands.ts'
import { NotFetched, useFetched } from '../app/fetched.tsx'
import type { Workspace } from '../app/workspace.ts'
import { ConfirmRequest } from '../dialogs/confirm-request.tsx'
import { t } from '../texts/texts.ts'
import { passFocus } from '../ui/focus.ts'
import { Field, Select } from '../ui/form.tsx'
import { maxCommandHint, maxCommandName } from '../ui/limits.ts'
import { Menu } from '../ui/menu.tsx'
import { SecretDialog } from '../ui/secret-dialog.tsx'
import { Table } from '../ui/table.tsx'
import { CreateForBot } from './create-for-bot.tsx'

/** A command that an app runs. Built-in commands are run by the server. */
type AppCommand = Command & { id: string }
type Task = 'edit' | 'remove'
type OpenDialog = { task: 'create' } | { task: Task; command: AppCommand }

/** The commands that apps run. */
export function BotCommands({ workspace }: { workspace: Workspace }) {
  const { client } = workspace
  const data = useFetched(async () => {
    const [{ commands }, { bots }] = await Promise.all([client.request('GET /commands'), client.request('GET /bots')])
    return { commands: commands.filter((command): command is AppCommand => command.id !== null), bots }
  })
  const { fetched, load } = data
  const openDialog = useSignal<OpenDialog | null>(null)
  const close = () => {
    openDialog.value = null
  }
  if (!fetched.value) return <NotFetched of={data} />
  const { commands, bots } = fetched.value
  const { value: dialog } = openDialog
  return (
    <>
      <p>
        {t('When somebody types a command, the server sends it to the program of the bot, and the program answers.')}
      </p>
      <CreateForBot
        label={t('Create command')}
        onCreate={() => (openDialog.value = { task: 'create' })}
        bots={bots}
        reason={t('Bots answer commands. Create a bot first.')}
        none={t('There are no commands of bots yet.')}
        isEmpty={commands.length === 0}
      />
      {commands.length > 0 && (
        <Table heads={[t('Command'), t('Description'), t('Bot'), t('URL')]} hasActions>
          {commands.map((command) => (
            <CommandRow
              key={command.id}
              command={command}
              botName={bots.find(({ id }) => id === command.botId)?.userName}
              onChoose={(task) => (openDialog.value = { task, command })}
            />
          ))}
        </Table>
      )}
      {dialog?.task === 'create' && (
        <EditCommand workspace={workspace} bots={bots} onChanged={() => void load()} onClose={close} />
      )}
      {dialog?.task === 'edit' && (
        <EditCommand
          workspace={workspace}
          bots={bots}
          command={dialog.command}
          onChanged={() => void load()}
          onClose={close}
        />
      )}
      {dialog?.task === 'remove' && (
        <ConfirmRequest
          name={t('Delete command')}
          question={t('Nobody can use {name} any more.', { name: `/${dialog.command.name}` })}
          confirmLabel={t('Delete')}
          onConfirm={() => {
            const params = { commandId: dialog.command.id }
            return client.request('DELETE /commands/:commandId', { params }).finally(() => void load())
          }}
          onClose={close}
        />
      )}
    </>
  )
}

interface CommandRowProps {
  command: AppCommand
  botName: string | undefined
  onChoose: (task: Task) => void
}

const CommandRow = ({ command, botName, onChoose }: CommandRowProps) => (
  <tr ref={passFocus}>
    <th scope="row" dir="auto">
      /{command.name} <span class="quiet">{command.usageHint}</span>
    </th>
    <td dir="auto">{command.description}</td>
    <td dir="auto">{botName}</td>
    <td class="address">{command.url}</td>
    <td>
      <Menu
        name={t('Actions for {name}', { name: `/${command.name}` })}
        items={[
          { name: t('Edit'), onChoose: () => onChoose('edit') },
          { name: t('Delete'), isDangerous: true, onChoose: () => onChoose('remove') },
        ]}
      />
    </td>
  </tr>
)

interface EditCommandProps {
  workspace: Workspace
  bots: readonly Bot[]
  /** The command to change. Without it, a new one is created. */
  command?: AppCommand
  onChanged: () => void
  onClose: () => void
}

/** Creates or changes a command. The response to the first command of a bot has the secret that signs the requests to it. */
function EditCommand({ workspace: { client }, bots, command, onChanged, onClose }: EditCommandProps) {
  async function save({ botId = '', ...fields }: Record<string, string>): Promise<string | null> {
    const { name = '', url = '', usageHint = '', description = '' } = fields
    const body = { name: name.trim(), url, usageHint, description }
    let secret: string | undefined
    if (command) await client.request('PUT /commands/:commandId', { params: { commandId: command.id }, body })
    else secret = (await client.request('POST /commands', { body: { botId, ...body } })).signingSecret
    onChanged()
    return secret ?? null
  }

  return (
    <SecretDialog
      name={command ? t('Edit command') : t('Create command')}
      submitLabel={command ? t('Save') : t('Create')}
      secretLabel={t('Signing secret')}
      secretHint={t('The program uses it to verify requests from this server.')}
      onSubmit={save}
      onClose={onClose}
    >
      <Field
        label={t('Command')}
        hint={t('Such as /deploy')}
        name="name"
        defaultValue={command?.name}
        maxLength={1 + maxCommandName}
        required
        autoFocus
      />
      {!command && (
        <Select label={t('Bot')} name="botId" options={bots.map(({ id, userName }) => [id, userName] as const)} />
      )}
      <Field
        label={t('URL')}
        hint={t('The address of the program that answers the command')}
        name="url"
        placeholder="https://"
        dir="ltr"
        defaultValue={command?.url}
        maxLength={2_000}
        required
      />
      <Field
        label={t('What comes after it')}
        hint={t('Shown while somebody types the command, such as [service]')}
        name="usageHint"
        defaultValue={command?.usageHint}
        maxLength={maxCommandHint}
      />
      <Field
        label={t('Description')}
        name="description"
        defaultValue={command?.description}
        maxLength={maxCommandHint}
      />
    </SecretDialog>
  )
}
