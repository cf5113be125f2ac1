/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The address of a control socket.
 */
#ifndef KWQ_CONTROL_ADDRESS_H
#define KWQ_CONTROL_ADDRESS_H

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#define CONTROL_PREFIX "run-"

/*
 * Makes the address of a socket in an open folder. The path of the folder itself may be longer
 * than an address.
 */
static inline void control_address(struct sockaddr_un *address, int folder, const char *name)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%.60s", folder,
		 name);
}

#endif /* KWQ_CONTROL_ADDRESS_H */
