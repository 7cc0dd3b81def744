import type { Workspace } from '../app/workspace.ts'
import { Avatar } from '../messages/avatar.tsx'
import { t } from '../texts/texts.ts'

interface FaceProps {
  workspace: Workspace
  person: { id: string; userName: string }
}

/** The avatar of a person, with a dot for their presence. The component that renders it must load the presence. */
export function Face({ workspace, person: { id, userName } }: FaceProps) {
  const status = workspace.presence(id)
  const names = { online: t('Online'), away: t('Away'), offline: t('Not here') }
  return (
    <span class="face" data-status={status} title={names[status]} aria-hidden="true">
      <Avatar workspace={workspace} name={userName} id={id} size="small" />
    </span>
  )
}
