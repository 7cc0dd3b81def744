import type { PresenceStatus } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { Avatar } from '../messages/avatar.tsx'
import { dateOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Form, Select } from '../ui/form.tsx'
import { maxDisplayName, maxTitle, maxUserName } from '../ui/limits.ts'
import { attempt } from '../ui/problems.ts'
import { base64Of } from '../ui/read-file.ts'
import { RequestButton } from '../ui/request-button.tsx'
import { SavingForm } from '../ui/saving-form.tsx'
import { shrinkPicture } from './shrink-picture.ts'

/** The names, title, avatar and presence of the signed-in person. */
export function Profile({ workspace }: { workspace: Workspace }) {
  const me = workspace.me.value
  return (
    <>
      <Picture workspace={workspace} />
      <SavingForm onSubmit={({ userName = '' }) => workspace.client.request('PUT /users/me', { body: { userName } })}>
        <Field
          label={t('Name')}
          name="userName"
          defaultValue={me.userName}
          maxLength={maxUserName}
          required
          autoComplete="nickname"
        />
        <Field label={t('Email')} name="email" value={me.email} readOnly />
        {me.expiresAt && <Field label={t('Last day')} name="until" value={dateOf(me.expiresAt - 1)} readOnly />}
      </SavingForm>
      <Presence workspace={workspace} />
      <FullNameAndTitle workspace={workspace} />
    </>
  )
}

/**
 * The full name and the title, with a dialog to change them. Not fields of the page: "Name" is the only field there whose name contains
 * this word.
 */
function FullNameAndTitle({ workspace }: { workspace: Workspace }) {
  const isOpen = useSignal(false)
  const { displayName, title, isManaged } = workspace.me.value
  const close = () => {
    isOpen.value = false
  }
  return (
    <section>
      <dl>
        <dt>{t('Full name')}</dt>
        <dd dir="auto">{displayName ?? '–'}</dd>
        <dt>{t('Title')}</dt>
        <dd dir="auto">{title ?? '–'}</dd>
      </dl>
      {isManaged ? (
        <p>{t('Provided by your organisation. Please have it changed there')}</p>
      ) : (
        <button type="button" class="button" onClick={() => (isOpen.value = true)}>
          {t('Change full name and title')}
        </button>
      )}
      {isOpen.value && (
        <Dialog name={t('Change full name and title')} onClose={close}>
          <Form
            submitLabel={t('Save')}
            onSubmit={async (body) => {
              await workspace.client.request('PUT /users/me', { body })
              close()
            }}
          >
            <Field
              label={t('Full name')}
              name="displayName"
              defaultValue={displayName ?? ''}
              maxLength={maxDisplayName}
              autoComplete="name"
              autoFocus
            />
            <Field
              label={t('Title')}
              name="title"
              defaultValue={title ?? ''}
              maxLength={maxTitle}
              autoComplete="organization-title"
            />
          </Form>
        </Dialog>
      )}
    </section>
  )
}

function Picture({ workspace }: { workspace: Workspace }) {
  const picker = useRef<HTMLInputElement>(null)
  const isBusy = useSignal(false)
  const { id, userName, avatarVersion } = workspace.me.value

  async function change(request: () => Promise<unknown>) {
    isBusy.value = true
    await attempt(request())
    isBusy.value = false
  }
  const upload = async (file: File) => {
    const body = { image: await base64Of(await shrinkPicture(file)) }
    await workspace.client.request('PUT /users/me/avatar', { body })
  }
  return (
    <section class="picture" aria-label={t('Picture')} aria-busy={isBusy.value}>
      <Avatar workspace={workspace} name={userName} id={id} size="256" />
      <input
        ref={picker}
        class="visually-hidden"
        type="file"
        tabIndex={-1}
        accept="image/png,image/jpeg,image/webp"
        aria-label={t('Picture')}
        onChange={(event) => {
          const [file] = event.currentTarget.files ?? []
          if (file) void change(() => upload(file))
          event.currentTarget.value = ''
        }}
      />
      <RequestButton disabled={isBusy.value} onRequest={async () => picker.current!.click()}>
        {t('Change picture')}
      </RequestButton>
      {avatarVersion !== null && (
        <RequestButton
          disabled={isBusy.value}
          onRequest={() => change(() => workspace.client.request('DELETE /users/me/avatar'))}
        >
          {t('Remove picture')}
        </RequestButton>
      )}
    </section>
  )
}

function Presence({ workspace }: { workspace: Workspace }) {
  const { client, myId } = workspace
  const chosen = useSignal<PresenceStatus | undefined>(undefined)
  useEffect(() => workspace.showPresence([myId]), [myId])
  const options: [PresenceStatus, string][] = [
    ['online', t('Online')],
    ['away', t('Away')],
    ['offline', t('Not here')],
  ]
  return (
    <form>
      <Select
        label={t('Status')}
        value={chosen.value ?? workspace.presence(myId)}
        options={options}
        onSelect={async (status) => {
          const before = chosen.value
          chosen.value = status
          if (!(await attempt(client.request('PUT /presence/me', { body: { status } })))) chosen.value = before
        }}
      />
    </form>
  )
}
