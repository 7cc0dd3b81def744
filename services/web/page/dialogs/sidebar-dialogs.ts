import { BrowseChannels } from './browse-channels.tsx'
import { CreateChannel } from './create-channel.tsx'

/** The dialogs that the sidebar opens, loaded when one of them is first opened. */
export const sidebarDialogs = { browse: BrowseChannels, create: CreateChannel }
